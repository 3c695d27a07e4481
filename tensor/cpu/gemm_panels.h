// tensor/cpu/gemm_panels.h: operands of large products in panels that tiles are loaded from.
//
// A panel is 32 rows (of the left operand) or columns (of the right one) of a product over all of its depth, in blocks
// of 32: a block is two tiles, as amx.h has them for `a` and `b`. What lies beyond the matrix is 0.
// Each function packs one block: `rows` x `cols` elements, at most 32 x 32, of a row-major matrix.
#pragma once

#include "tensor/cpu/tiles.h"

#if defined(__AVX512BW__)

namespace weft::cpu {

inline constexpr int64_t kPanel = kTileHalves;  // rows or columns of a panel, and depths of a block
inline constexpr int64_t kPanelBlock = kPanel * kPanel;

constexpr int64_t round_up_to_panel(int64_t n) { return round_up_to_halves(n); }

// Row `row` of a block, 0 beyond it; `from` is read only where it belongs to the block.
inline HalfRow block_row(const BFloat16* from, int64_t stride, int64_t row, int64_t rows, int64_t cols) {
  return row < rows ? load_halves(from + row * stride, cols) : HalfRow{};
}

// A left operand's rows as they are.
inline void pack_rows(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to) {
  for (int64_t i = 0; i < kPanel; ++i) store_halves(block_row(from, stride, i, rows, cols), to + i * kTileHalves);
}

// A right operand that is stored transposed: its columns are rows here, its depths columns.
inline void pack_columns(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to) {
  for (int64_t first = 0; first < kPanel; first += kTileRows, to += kTileSize) {
    Vec block[kTileRows];
    for (int64_t i = 0; i < kTileRows; ++i)
      block[i] = reinterpret_cast<Vec>(block_row(from, stride, first + i, rows, cols));
    store_transposed(block, to);
  }
}

// A right operand: depths are rows, two of them side by side.
inline void pack_row_pairs(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to) {
  for (int64_t i = 0; i < kPanel; i += 2, to += kTileHalves) {
    const HalfRow even = block_row(from, stride, i, rows, cols), odd = block_row(from, stride, i + 1, rows, cols);
    store_halves(interleave<false>(even, odd), to);
    store_halves(interleave<true>(even, odd), to + kTileSize);
  }
}

// A left operand that is stored transposed: depths are rows.
inline void pack_column_pairs(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to) {
  Vec left[kTileRows], right[kTileRows];
  for (int64_t i = 0; i < kTileRows; ++i) {
    const HalfRow even = block_row(from, stride, 2 * i, rows, cols);
    const HalfRow odd = block_row(from, stride, 2 * i + 1, rows, cols);
    left[i] = reinterpret_cast<Vec>(interleave<false>(even, odd));
    right[i] = reinterpret_cast<Vec>(interleave<true>(even, odd));
  }
  store_transposed(left, to);
  store_transposed(right, to + kTileSize);
}

}  // namespace weft::cpu

#endif
