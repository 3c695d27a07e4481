// tensor/cpu/gemm/amx.h: gives access to the tile registers of processors with AMX.
//
// There are eight registers of 16 rows of 64 bytes. A tile multiplication adds the product of `a` and `b` to 16 x 16
// floats. `a` has 16 rows of 32 consecutive bf16. Row j of `b` contains rows 2j and 2j + 1 of the matrix in pairs:
// b[2j][0], b[2j + 1][0], b[2j][1], ... The multiplication rounds to nearest and treats subnormals as 0. With inline
// assembly, kernels need not be compiled for AMX, and stores before a load are in memory when the load runs.
#pragma once

#include <cstdint>

namespace weft::cpu {

// Returns true if the processor has bf16 tiles and the operating system lets this process use them.
bool has_amx();
bool has_amx_int8();  // int8 tiles as well
bool has_avx_vnni();  // vpdpbusd on vectors of 32 bytes

// If `wanted`, configures this thread's tiles with their full shape; the destructor releases the tiles, which keeps
// thread switches cheap. REQUIRES: has_amx() if `wanted`.
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
inline constexpr int64_t kTileFloats = kTileBytes / 4, kTileHalves = kTileBytes / 2;  // per row

// Loads a tile whose rows are `stride` bytes apart.
template <int kTile>
inline void tile_load(const void* from, int64_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(kTile), "r"(from), "r"(stride) : "memory");
}
// Like tile_load, but bypasses the L1 cache, for data that is read once and should not evict other data.
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
// Computes sum += a b.
template <int kSum, int kA, int kB>
inline void tile_multiply_add() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
}

// Computes sum += a b in 32-bit integers. `a` has 16 rows of 64 consecutive unsigned bytes. Row j of `b` contains rows
// 4j to 4j + 3 of a matrix of signed bytes, in groups of four.
template <int kSum, int kA, int kB>
inline void tile_multiply_add_bytes() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
}

#endif

}  // namespace weft::cpu
