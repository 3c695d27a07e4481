// tensor/cpu/amx_pack.h: bf16 matrices in the layout that AMX tiles are loaded from.
//
// A panel is 32 rows (of the left operand) or columns (of the right one) of a product over all of its depth, in blocks
// of 32: a block is two tiles of 16 rows of 64 bytes. A row of a left tile holds 32 depths of one row of the matrix; a
// row of a right tile holds 16 columns of two depths, side by side (Intel, Software Developer's Manual, TDPBF16PS).
// What lies beyond the matrix is 0. Functions are compiled for their own instructions; callers asked has_amx() before.
#pragma once

// g++ 12 warns of its own intrinsics (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tensor/cpu/amx.h"
#include "tensor/half.h"

namespace weft::cpu {

inline constexpr int64_t kPanel = 32;                    // rows or columns of a panel, and depths of a block
inline constexpr int64_t kTile = 512;                    // elements of a tile
inline constexpr int64_t kPanelBlock = kPanel * kPanel;  // elements of a block: two tiles

constexpr int64_t round_up_to_panel(int64_t n) { return (n + kPanel - 1) / kPanel * kPanel; }

// 16 x 16 transposition of 32-bit words.
inline void transpose_words(__m512i r[16]) {
  __m512i t[16];
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 4; ++i) {
    r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0x88);
    t[4 + i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0xdd);
    t[8 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0x88);
    t[12 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
    r[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xdd);
    r[4 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0x88);
    r[12 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0xdd);
  }
}

// 32 elements from `from`, of which `count` belong to the matrix; `from` is read only where they do.
inline __m512i load_row(const BFloat16* from, int64_t count) {
  if (count >= kPanel) return _mm512_loadu_si512(from);
  return _mm512_maskz_loadu_epi16(count <= 0 ? 0 : static_cast<__mmask32>((uint64_t{1} << count) - 1), from);
}

inline void store_tile(const __m512i r[16], BFloat16* to) {
  for (int i = 0; i < 16; ++i) _mm512_store_si512(to + i * kPanel, r[i]);
}

// Each block below: `rows` x `cols` elements, at most 32 x 32, from a row-major matrix.

// A left operand's rows as they are.
inline void copy_block(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to) {
  for (int64_t i = 0; i < kPanel; ++i)
    _mm512_store_si512(to + i * kPanel, load_row(from + i * stride, i < rows ? cols : 0));
}

// A right operand that is stored transposed: its columns are rows here, its depths columns.
inline void transpose_block(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to) {
  for (int64_t half = 0; half < kPanel; half += 16) {
    __m512i r[16];
    for (int64_t i = 0; i < 16; ++i) r[i] = load_row(from + (half + i) * stride, half + i < rows ? cols : 0);
    transpose_words(r);
    store_tile(r, to + half * kPanel);
  }
}

// Pairs of rows side by side: words of (row 2i, row 2i + 1); left: columns 0 to 15, right: 16 to 31.
inline void pair_rows(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, __m512i left[16],
                      __m512i right[16]) {
  alignas(64) static constexpr uint16_t kLeft[32] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                     8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i first = _mm512_load_si512(kLeft), second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
  for (int64_t i = 0; i < 16; ++i) {
    const __m512i even = load_row(from + 2 * i * stride, 2 * i < rows ? cols : 0);
    const __m512i odd = load_row(from + (2 * i + 1) * stride, 2 * i + 1 < rows ? cols : 0);
    left[i] = _mm512_permutex2var_epi16(even, first, odd);
    right[i] = _mm512_permutex2var_epi16(even, second, odd);
  }
}

// A right operand: depths are rows.
inline void pair_block(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to) {
  __m512i left[16], right[16];
  pair_rows(from, stride, rows, cols, left, right);
  store_tile(left, to);
  store_tile(right, to + kTile);
}

// A left operand that is stored transposed: depths are rows.
inline void pair_and_transpose_block(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to) {
  __m512i left[16], right[16];
  pair_rows(from, stride, rows, cols, left, right);
  transpose_words(left);
  transpose_words(right);
  store_tile(left, to);
  store_tile(right, to + kTile);
}

}  // namespace weft::cpu
