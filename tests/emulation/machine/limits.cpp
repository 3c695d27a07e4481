// tests/emulation/machine/limits.cpp: the table of compute capabilities.
#include "tests/emulation/machine/limits.h"

#include <cstdlib>
#include <string>

#include "tests/emulation/runtime/error.h"

namespace weft::emulation {

GpuLimits gpu_limits() {
  constexpr GpuLimits kGpus[] = {{8, 0, 163 * 1024},  // A100
                                 {8, 6, 99 * 1024},   // RTX 30, A10, A40
                                 {8, 9, 99 * 1024},   // RTX 40, L4, L40
                                 {9, 0, kMaxSharedBytes}, {10, 0, kMaxSharedBytes}, {12, 0, 99 * 1024}};  // RTX 50
  const char* const setting = std::getenv("WEFT_EMULATION_COMPUTE");
  const std::string wanted = setting == nullptr ? "9.0" : setting;
  for (const GpuLimits& gpu : kGpus)
    if (wanted == std::to_string(gpu.major) + "." + std::to_string(gpu.minor)) return gpu;
  fail(cudaErrorInvalidDevice, "WEFT_EMULATION_COMPUTE is no known compute capability");
}

}  // namespace weft::emulation
