// tensor/cpu/gemm/tile_product.h: packs, multiplies and rounds small bf16 matrices on AMX tiles, for attention.
//
// Operands are padded with 0 to full tiles, so no remainders are left. `a` is stored by rows. `b` is stored in tiles of
// 32 rows x 16 columns, where the tiles of the same columns are consecutive.
#pragma once

#include "tensor/cpu/gemm/tiles.h"

#if defined(__AVX512BW__)

namespace weft::cpu {

// Packs a = in[rows, cols].
inline void pack_a(const BFloat16* in, int64_t in_row, int64_t rows, int64_t cols, BFloat16* a) {
  const int64_t ld = round_up_to_halves(cols);
  for (int64_t r = 0; r < round_up_to_tile(rows); ++r)
    for (int64_t c = 0; c < ld; c += kTileHalves)
      store_halves(r < rows ? load_halves(in + r * in_row + c, cols - c) : HalfRow{}, a + r * ld + c);
}

// Packs two rows of b, of which only `kRows` exist. Tiles of neighboring columns are `column` elements apart.
template <int kRows>
inline void pack_b_pair(const BFloat16* in, int64_t in_row, int64_t cols, BFloat16* to, int64_t column) {
  for (int64_t c = 0; c < cols; c += kTileHalves, to += 2 * column) {
    const HalfRow first = kRows > 0 ? load_halves(in + c, cols - c) : HalfRow{};
    const HalfRow second = kRows > 1 ? load_halves(in + in_row + c, cols - c) : HalfRow{};
    store_halves(interleave<false>(first, second), to);
    store_halves(interleave<true>(first, second), to + column);
  }
}

// Packs b = in[rows, cols].
inline void pack_b(const BFloat16* in, int64_t in_row, int64_t rows, int64_t cols, BFloat16* b) {
  const int64_t padded = round_up_to_halves(rows), column = padded * kTileFloats;
  int64_t r = 0;
  for (; r + 1 < rows; r += 2) pack_b_pair<2>(in + r * in_row, in_row, cols, b + r * kTileFloats, column);
  if (r < rows) pack_b_pair<1>(in + r * in_row, in_row, cols, b + r * kTileFloats, column), r += 2;
  for (; r < padded; r += 2) pack_b_pair<0>(nullptr, 0, cols, b + r * kTileFloats, column);
}

// Packs b = the transpose of in[rows, cols].
inline void pack_b_transposed(const BFloat16* in, int64_t in_row, int64_t rows, int64_t cols, BFloat16* b) {
  for (int64_t r = 0; r < rows; r += kTileRows)
    for (int64_t c = 0; c < cols; c += kTileHalves, b += kTileSize) {
      Vec block[kTileRows] = {};
      for (int64_t i = 0; i < std::min(kTileRows, rows - r); ++i)
        block[i] = reinterpret_cast<Vec>(load_halves(in + (r + i) * in_row + c, cols - c));
      store_transposed(block, b);
    }
}

struct TileA {
  const BFloat16* data;
  int64_t ld;
};
struct TileB {
  const BFloat16* data;
  int64_t rows;  // number of rows in b, the distance between columns of tiles
};

// Computes kRows x kCols tiles of c.
template <int kRows, int kCols>
inline void tile_product_block(int64_t k, TileA a, TileB b, SmallC c) {
  constexpr bool kTwoRows = kRows > 1, kTwoCols = kCols > 1;
  const int64_t c_bytes = c.ld * static_cast<int64_t>(sizeof(float)), a_bytes = a.ld * 2;
  float *below = c.data + kTileRows * c.ld, *right = c.data + kTileFloats, *last = below + kTileFloats;
  if (c.accumulate) {
    tile_load<0>(c.data, c_bytes);
    if constexpr (kTwoCols) tile_load<1>(right, c_bytes);
    if constexpr (kTwoRows) tile_load<2>(below, c_bytes);
    if constexpr (kTwoRows && kTwoCols) tile_load<3>(last, c_bytes);
  } else {
    tile_zero<0>();
    if constexpr (kTwoCols) tile_zero<1>();
    if constexpr (kTwoRows) tile_zero<2>();
    if constexpr (kTwoRows && kTwoCols) tile_zero<3>();
  }
  for (int64_t j = 0; j < k; j += kTileHalves) {
    tile_load<4>(a.data + j, a_bytes);
    tile_load<6>(b.data + j * kTileFloats, kTileBytes);
    tile_multiply_add<0, 4, 6>();
    if constexpr (kTwoCols) {
      tile_load<7>(b.data + (b.rows + j) * kTileFloats, kTileBytes);
      tile_multiply_add<1, 4, 7>();
    }
    if constexpr (kTwoRows) {
      tile_load<5>(a.data + kTileRows * a.ld + j, a_bytes);
      tile_multiply_add<2, 5, 6>();
    }
    if constexpr (kTwoRows && kTwoCols) tile_multiply_add<3, 5, 7>();
  }
  tile_store<0>(c.data, c_bytes);
  if constexpr (kTwoCols) tile_store<1>(right, c_bytes);
  if constexpr (kTwoRows) tile_store<2>(below, c_bytes);
  if constexpr (kTwoRows && kTwoCols) tile_store<3>(last, c_bytes);
}

// Computes c[m, n] = a[m, k] b[k, n], or adds to c. m and n are rounded up to 16, k to 32. REQUIRES: a TileConfig.
inline void tile_product(int64_t m, int64_t n, int64_t k, TileA a, TileB b, SmallC c) {
  for (int64_t col = 0; col < n; col += 2 * kTileFloats)
    for (int64_t row = 0; row < m; row += 2 * kTileRows) {
      const TileA a_rows{a.data + row * a.ld, a.ld};
      const TileB b_cols{b.data + col * b.rows, b.rows};
      const SmallC target{c.data + row * c.ld + col, c.ld, c.accumulate};
      const bool two_rows = m - row > kTileRows, two_cols = n - col > kTileFloats;
      const auto block = two_rows   ? (two_cols ? tile_product_block<2, 2> : tile_product_block<2, 1>)
                         : two_cols ? tile_product_block<1, 2>
                                    : tile_product_block<1, 1>;
      block(k, a_rows, b_cols, target);
    }
}

// Rounds f32 `in` to bf16 in out[rows, cols].
inline void round_rows(const float* in, int64_t ld, int64_t rows, int64_t cols, BFloat16* out, int64_t out_row) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; c += kTileHalves) {
      const float* from = in + r * ld + c;
      store_halves(round_to_halves(load(from), load(from + kLanes)), out + r * out_row + c, cols - c);
    }
}

}  // namespace weft::cpu

#endif
