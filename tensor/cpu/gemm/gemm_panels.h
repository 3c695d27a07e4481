// tensor/cpu/gemm/gemm_panels.h: packs operands of large GEMMs into panels, from which tiles are loaded.
//
// The depth is the inner dimension. A panel has 32 rows of the left operand, or 32 columns of the right operand, in
// blocks of 32 depths. A block is two tiles in the layout of `a` or `b` in amx.h. Elements beyond the matrix are 0.
#pragma once

#include "tensor/cpu/gemm/tiles.h"

#if defined(__AVX512BW__)

namespace weft::cpu {

inline constexpr int64_t kPanel = kTileHalves;  // rows or columns per panel, and depths per block
inline constexpr int64_t kPanelBlock = kPanel * kPanel;

constexpr int64_t round_up_to_panel(int64_t n) { return round_up_to_halves(n); }

// The functions below pack one block: `rows` x `cols` elements, at most 32 x 32, of a row-major matrix.

// Returns row `row` of a block, or 0 beyond the block. Reads `from` only inside the block.
inline HalfRow block_row(const BFloat16* from, int64_t stride, int64_t row, int64_t rows, int64_t cols) {
  return row < rows ? load_halves(from + row * stride, cols) : HalfRow{};
}

// Packs a left operand without changing the rows.
inline void pack_rows(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to) {
  for (int64_t i = 0; i < kPanel; ++i) store_halves(block_row(from, stride, i, rows, cols), to + i * kTileHalves);
}

// Packs a right operand that is stored transposed, so that its columns are rows here.
inline void pack_columns(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to) {
  for (int64_t first = 0; first < kPanel; first += kTileRows, to += kTileSize) {
    Vec block[kTileRows];
    for (int64_t i = 0; i < kTileRows; ++i)
      block[i] = reinterpret_cast<Vec>(block_row(from, stride, first + i, rows, cols));
    store_transposed(block, to);
  }
}

// The next two functions pack a matrix with one row per depth: `rows` depths, at most 32, for all panels. A panel's
// block begins `panel_stride` elements after the previous panel's block. Each row is read sequentially.

// Packs a right operand: the elements of two depths alternate.
inline void pack_row_pairs(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to,
                           int64_t panel_stride) {
  for (int64_t i = 0; i < kPanel; i += 2, to += kTileHalves) {
    const BFloat16 *even = from + i * stride, *odd = even + stride;
    BFloat16* line = to;
    for (int64_t col = 0; col < cols; col += kPanel, line += panel_stride) {
      const HalfRow first = i < rows ? load_halves(even + col, cols - col) : HalfRow{};
      const HalfRow second = i + 1 < rows ? load_halves(odd + col, cols - col) : HalfRow{};
      store_halves(interleave<false>(first, second), line);
      store_halves(interleave<true>(first, second), line + kTileSize);
    }
  }
}

// Packs a left operand that is stored transposed.
inline void pack_column_pairs(const BFloat16* from, int64_t stride, int64_t rows, int64_t cols, BFloat16* to,
                              int64_t panel_stride) {
  pack_row_pairs(from, stride, rows, cols, to, panel_stride);
  for (int64_t col = 0; col < cols; col += kPanel, to += panel_stride) {
    for (BFloat16* tile : {to, to + kTileSize}) {
      Vec lines[kTileRows];
      for (int64_t i = 0; i < kTileRows; ++i) lines[i] = reinterpret_cast<Vec>(load_halves(tile + i * kTileHalves));
      store_transposed(lines, tile);
    }
  }
}

}  // namespace weft::cpu

#endif
