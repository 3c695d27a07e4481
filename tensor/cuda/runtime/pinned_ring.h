// tensor/cuda/runtime/pinned_ring.h: pinned memory through which bytes go from the host's own memory to the device, so
// that the host may write there again at once, and back.
//
// Two halves: while the host fills or empties one, the device reads or writes the other. Uploads wait only for a half
// that is still being read, downloads for all that the stream was asked for before.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

namespace weft::cuda {

class PinnedRing {  // takes no memory before its first use
 public:
  static constexpr size_t kHalfBytes = size_t{4} << 20;

  PinnedRing() = default;
  ~PinnedRing();
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;
  void upload(const void* host, void* device, size_t bytes, cudaStream_t stream);  // always of the same stream
  void download(const void* device, void* host, size_t bytes, cudaStream_t stream);

 private:
  void allocate();
  void turn(cudaStream_t stream);

  char* data_ = nullptr;
  size_t half_ = 0, used_ = 0;         // the half being filled, and how much of it is
  std::array<cudaEvent_t, 2> done_{};  // of a half: the device has read or written it
};

}  // namespace weft::cuda
