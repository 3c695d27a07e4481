// tests/emulation/machine/limits.h: limits of the emulated device: those of an H100 or of the GPU that the environment
// names, except for the number of multiprocessors.
#pragma once

namespace weft::emulation {

inline constexpr int kMaxThreads = 1024;            // of a block
inline constexpr int kSharedBytes = 48 * 1024;      // dynamic shared memory of a block by default
inline constexpr int kMaxSharedBytes = 227 * 1024;  // after cudaFuncSetAttribute, on any GPU
inline constexpr int kMaxGridX = 0x7FFFFFFF, kMaxGridYZ = 65535, kMaxBlockZ = 64;
inline constexpr int kMultiprocessors = 4;

// What depends on the compute capability (CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability").
struct GpuLimits {
  int major, minor;
  int max_shared_bytes;  // of a block, after cudaFuncSetAttribute
};

// WEFT_EMULATION_COMPUTE=MAJOR.MINOR chooses the GPU; the default is 9.0. Throws if it is unknown.
GpuLimits gpu_limits();

}  // namespace weft::emulation
