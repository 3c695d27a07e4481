// tensor/cuda/pinned_ring.h: pinned memory through which the host's bytes go to the device, so that the host may write
// its own again at once.
//
// Two halves: while one is being filled, the device reads the other. Filling waits only for a half that is still being
// read.
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

 private:
  void allocate();
  void turn(cudaStream_t stream);

  char* data_ = nullptr;
  size_t half_ = 0, used_ = 0;         // the half being filled, and how much of it is
  std::array<cudaEvent_t, 2> read_{};  // of a half: the device has read it
};

}  // namespace weft::cuda
