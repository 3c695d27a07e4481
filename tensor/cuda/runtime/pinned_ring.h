// tensor/cuda/runtime/pinned_ring.h: provides pinned memory for copies between pageable host memory and the device, so
// that the host may reuse its memory immediately.
//
// The ring has two halves: while the host fills or empties one half, the device reads or writes the other. An upload
// waits only if the device still reads a half. A download waits for all earlier work of the stream.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

namespace weft::cuda {

class PinnedRing {  // allocates on first use
 public:
  static constexpr size_t kHalfBytes = size_t{4} << 20;

  PinnedRing() = default;
  ~PinnedRing();
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;
  void upload(const void* host, void* device, size_t bytes, cudaStream_t stream);  // requires always the same stream
  void download(const void* device, void* host, size_t bytes, cudaStream_t stream);

 private:
  void allocate();
  void turn(cudaStream_t stream);

  char* data_ = nullptr;
  size_t half_ = 0, used_ = 0;         // the half being filled, and its used bytes
  std::array<cudaEvent_t, 2> done_{};  // per half: the device has read or written it
};

}  // namespace weft::cuda
