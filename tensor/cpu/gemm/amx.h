// tensor/cpu/gemm/amx.h: the tile registers of processors with AMX: whether they may be used, their shape, their
// instructions.
//
// Eight registers of 16 rows of 64 bytes. A product adds to 16 x 16 floats that of `a`, 16 rows of 32 consecutive bf16,
// and `b`, of which row j holds the 16 pairs of rows 2j and 2j + 1: b[2j][0], b[2j + 1][0], b[2j][1], ... It rounds to
// nearest and takes subnormal numbers for 0. Assembly rather than intrinsics: kernels need not be compiled for AMX, and
// what is written before a load is in memory when it happens.
#pragma once

#include <cstdint>

namespace weft::cpu {

// Whether the processor has tiles for bf16 and the system hands them to this process; asked once.
bool has_amx();

// While it lives, this thread's tiles have their full shape; then they are free, so that switching threads stays cheap.
// Wanted only where has_amx().
class TileConfig {
 public:
  explicit TileConfig(bool wanted = true);
  ~TileConfig();
  TileConfig(const TileConfig&) = delete;
  TileConfig& operator=(const TileConfig&) = delete;

 private:
  const bool wanted_;
};

#if defined(__x86_64__)

inline constexpr int64_t kTileRows = 16, kTileBytes = 64;
inline constexpr int64_t kTileFloats = kTileBytes / 4, kTileHalves = kTileBytes / 2;  // of a row

// Rows lie `stride` bytes apart.
template <int kTile>
inline void tile_load(const void* from, int64_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(kTile), "r"(from), "r"(stride) : "memory");
}
// The same past the first cache: for what is read once and shall not drive out what stays.
template <int kTile>
inline void tile_load_stream(const void* from, int64_t stride) {
  asm volatile("tileloaddt1 (%1,%2,1), %%tmm%c0" ::"i"(kTile), "r"(from), "r"(stride) : "memory");
}
template <int kTile>
inline void tile_store(void* to, int64_t stride) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(kTile), "r"(to), "r"(stride) : "memory");
}
template <int kTile>
inline void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
// sum += a b
template <int kSum, int kA, int kB>
inline void tile_multiply_add() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
}

#endif

}  // namespace weft::cpu
