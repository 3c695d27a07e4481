// tensor/cpu/gemm/tiles.h: loads, interleaves, transposes and rounds rows of bf16 in registers, for tiles.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/cpu/gemm/amx.h"
#include "tensor/cpu/gemm/small_gemm.h"
#include "tensor/half.h"

#if defined(__AVX512BW__)
#include <immintrin.h>

namespace weft::cpu {

inline constexpr bool kTilesCompiled = true;

inline constexpr int64_t kTileSize = kTileRows * kTileHalves;  // elements
typedef uint16_t HalfRow __attribute__((vector_size(kTileBytes)));

constexpr int64_t round_up_to_tile(int64_t n) { return (n + kTileRows - 1) / kTileRows * kTileRows; }
constexpr int64_t round_up_to_halves(int64_t n) { return (n + kTileHalves - 1) / kTileHalves * kTileHalves; }

inline __mmask32 first_lanes(int64_t count) { return count >= kTileHalves ? ~0u : (1u << count) - 1; }

// Loads the first `count` lanes; the others are 0.
inline HalfRow load_halves(const BFloat16* from, int64_t count = kTileHalves) {
  return reinterpret_cast<HalfRow>(_mm512_maskz_loadu_epi16(first_lanes(count), from));
}
inline void store_halves(HalfRow row, BFloat16* to, int64_t count = kTileHalves) {
  _mm512_mask_storeu_epi16(to, first_lanes(count), reinterpret_cast<__m512i>(row));
}

// Rounds to nearest, ties to even; subnormals become 0. Every processor with tiles has this instruction, even if the
// kernels are compiled without it.
inline HalfRow round_to_halves(Vec low, Vec high) {
  HalfRow rounded;
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(rounded) : "v"(low), "v"(high));
  return rounded;
}

// Returns a[0], b[0], a[1], b[1], ... from the lower or upper halves of two rows.
template <bool kUpper, size_t... kLane>
inline HalfRow interleave(HalfRow a, HalfRow b, std::index_sequence<kLane...>) {
  return __builtin_shuffle(a, b, HalfRow{(kLane / 2 + kLane % 2 * kTileHalves + kUpper * kTileHalves / 2)...});
}
template <bool kUpper>
inline HalfRow interleave(HalfRow a, HalfRow b) {
  return interleave<kUpper>(a, b, std::make_index_sequence<kTileHalves>());
}

// Interleaves the lower half of a row with its upper half.
template <size_t... kLane>
inline HalfRow interleave_halves(HalfRow row, std::index_sequence<kLane...>) {
  return __builtin_shuffle(row, HalfRow{(kLane / 2 + kLane % 2 * kTileHalves / 2)...});
}
inline HalfRow interleave_halves(HalfRow row) {
  return interleave_halves(row, std::make_index_sequence<kTileHalves>());
}

// Transposes 16 rows of pairs of bf16. This turns rows of b's transpose into a tile of `b`, and interleaved
// pairs of rows into rows of a's transpose.
inline void store_transposed(Vec* rows, BFloat16* tile) {
  transpose_block(rows);
  for (int64_t i = 0; i < kTileRows; ++i) store_halves(reinterpret_cast<HalfRow>(rows[i]), tile + i * kTileHalves);
}

}  // namespace weft::cpu

#else

namespace weft::cpu {
inline constexpr bool kTilesCompiled = false;
}

#endif
