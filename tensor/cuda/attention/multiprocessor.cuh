// tensor/cuda/attention/multiprocessor.cuh: gives the shared memory of a multiprocessor of the GPU that is compiled for
// (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
#pragma once

#include <cstddef>

namespace weft::cuda {

// In bytes. GPUs of 8.6 and 8.9, which have 100 KB, also run the code for 8.0.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
inline constexpr size_t kSharedBytesOfMultiprocessor = 100 * 1024;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr size_t kSharedBytesOfMultiprocessor = 164 * 1024;
#else
inline constexpr size_t kSharedBytesOfMultiprocessor = 228 * 1024;
#endif

inline constexpr size_t kReservedBytesOfBlock = 1024;  // which CUDA adds to those of a block

}  // namespace weft::cuda
