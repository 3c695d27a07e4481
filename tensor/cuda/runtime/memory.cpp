// tensor/cuda/runtime/memory.cpp: allocates device memory for Buffers.
#include <exception>

#include "tensor/cuda/runtime/runtime.h"

namespace weft::cuda {

void* allocate(size_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) fail_without_memory(bytes);
  check(status, "cudaMalloc");
  // Our streams do not wait for the default stream, so the host waits for it.
  const cudaError_t filled = cudaMemset(data, 0, bytes);
  const cudaError_t done = filled == cudaSuccess ? cudaStreamSynchronize(nullptr) : filled;
  if (done != cudaSuccess) release(data);
  check(done, "cudaMemset");
  return data;
}

// cudaFree waits for the device. While an error propagates, the device may be in a collective that other ranks never
// join, and the communicator that aborts the collective is destroyed after its tensors. Then the memory is not freed.
void release(void* data) noexcept {
  if (data != nullptr && std::uncaught_exceptions() == 0) (void)cudaFree(data);
}

// CUDA allocates pages of 2 MiB, which small allocations share.
size_t footprint(size_t bytes) {
  constexpr size_t kPiece = 512, kPage = size_t{2} << 20, kLargestPiece = size_t{1} << 20;
  const size_t unit = bytes <= kLargestPiece ? kPiece : kPage;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace weft::cuda
