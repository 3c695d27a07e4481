// tests/emulation/machine/limits.h: limits of the emulated device: those of an H100, except for the number of
// multiprocessors.
#pragma once

namespace weft::emulation {

inline constexpr int kMaxThreads = 1024;            // of a block
inline constexpr int kSharedBytes = 48 * 1024;      // dynamic shared memory of a block by default
inline constexpr int kMaxSharedBytes = 227 * 1024;  // after cudaFuncSetAttribute
inline constexpr int kMaxGridX = 0x7FFFFFFF, kMaxGridYZ = 65535, kMaxBlockZ = 64;
inline constexpr int kComputeMajor = 9, kComputeMinor = 0;
inline constexpr int kMultiprocessors = 4;

}  // namespace weft::emulation
