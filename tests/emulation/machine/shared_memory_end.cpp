// tests/emulation/machine/shared_memory_end.cpp: the end of the shared memory, and its dynamic part; see
// shared_memory_begin.cpp.
#include <cuda_runtime.h>

#include <cstddef>

#include "tests/emulation/machine/limits.h"

namespace weft::cuda {

alignas(16) thread_local int4 dynamic_shared[emulation::kMaxSharedBytes / sizeof(int4)];  // tensor/cuda/launch.cuh

}  // namespace weft::cuda

namespace weft::emulation {

extern thread_local std::byte shared_memory_begin[16];

SharedMemory shared_memory() {
  return {shared_memory_begin, reinterpret_cast<std::byte*>(cuda::dynamic_shared), sizeof cuda::dynamic_shared};
}

}  // namespace weft::emulation
