// tensor/cpu/gemm/int8_panels.h: multiplies rows of rounded activations by a panel of an int8 weight.
//
// Activations are 0 to 127, weights -127 to 127, and sums are 32-bit integers. So two products fit into the 16 bits in
// which some instructions add them, and all kernels return the same numbers, because sums of integers do not depend on
// their order. A kernel is a template over the instructions that it uses, which are those of this processor
// (int8_instructions.h) or, in tests, loops that do the same. Instructions multiply groups of four adjacent depths of a
// column. So a panel contains, for each four depths, the groups of its columns, one after the other.
#pragma once

#include <cstdint>

namespace weft::cpu {

inline constexpr int64_t kInt8Group = 4, kInt8DepthStep = 64;
inline constexpr int64_t kMostInt8Sums = 32 * 32;  // of a kernel's rows and a panel's columns

struct Int8Rows {
  const uint8_t* data;
  int64_t stride, count;  // in bytes; number of rows
  int64_t depth;          // padded with 0 to a multiple of kInt8DepthStep
};

struct Int8Kernel {
  const char* name;
  int64_t cols, col_step;  // columns of a panel; the last panel has a multiple of col_step
  int64_t rows;            // rows that are multiplied at once
  bool uses_tiles;         // needs a TileConfig
  // Sets sums [x.count, width] to x times a panel of `width` columns. REQUIRES: x.count <= rows. Both have memory for
  // `rows` rows, which may be read and overwritten.
  void (*multiply)(const Int8Rows& x, const int8_t* panel, int64_t width, int32_t* sums);
};

template <typename I, int kRows, int kVecs>
void int8_block(const Int8Rows& x, const int8_t* panel, int32_t* sums) {
  constexpr int64_t kVecBytes = I::kColumns * kInt8Group;
  typename I::Sums all[kRows][kVecs] = {};
  for (int64_t depth = 0; depth < x.depth; depth += kInt8Group, panel += kVecs * kVecBytes) {
    typename I::Columns columns[kVecs];
    for (int v = 0; v < kVecs; ++v) columns[v] = I::load(panel + v * kVecBytes);
    for (int i = 0; i < kRows; ++i) {
      const auto group = I::broadcast(x.data + i * x.stride + depth);
      for (int v = 0; v < kVecs; ++v) I::add_products(all[i][v], group, columns[v]);
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVecs; ++v) I::store(all[i][v], sums + (i * kVecs + v) * I::kColumns);
}

template <typename I, int kVecs, int kRows = I::kRows>
void int8_rows(const Int8Rows& x, const int8_t* panel, int32_t* sums) {
  if constexpr (kRows > 1)
    if (x.count < kRows) return int8_rows<I, kVecs, kRows - 1>(x, panel, sums);
  int8_block<I, kRows, kVecs>(x, panel, sums);
}

template <typename I, int kVecs = I::kVecs>
void int8_panel(const Int8Rows& x, const int8_t* panel, int64_t width, int32_t* sums) {
  if constexpr (kVecs > 1)
    if (width < kVecs * I::kColumns) return int8_panel<I, kVecs - 1>(x, panel, width, sums);
  int8_rows<I, kVecs>(x, panel, sums);
}

template <typename I>
constexpr Int8Kernel int8_kernel_of(const char* name) {
  static_assert(I::kRows * I::kVecs * I::kColumns <= kMostInt8Sums);
  return {.name = name,
          .cols = I::kVecs * I::kColumns,
          .col_step = I::kColumns,
          .rows = I::kRows,
          .uses_tiles = false,
          .multiply = int8_panel<I>};
}

// Tiles are registers of 16 rows of 64 bytes. Tiles 0 to 3 are sums of 32 rows and 32 columns, to which products of two
// tiles of x (4 and 5) and two of the panel (6 and 7) are added.
inline constexpr int64_t kInt8TileRows = 16, kInt8TileCols = 16;

template <typename Tiles>
void int8_tile_panel(const Int8Rows& x, const int8_t* panel, int64_t width, int32_t* sums) {
  const int64_t panel_row = width * kInt8Group, sum_row = width * static_cast<int64_t>(sizeof(int32_t));
  const bool has_lower = x.count > kInt8TileRows;
  Tiles::template zero<0>(), Tiles::template zero<1>(), Tiles::template zero<2>(), Tiles::template zero<3>();
  for (int64_t depth = 0; depth < x.depth; depth += kInt8DepthStep, panel += kInt8DepthStep * width) {
    Tiles::template load<6>(panel, panel_row);
    Tiles::template load<7>(panel + kInt8TileCols * kInt8Group, panel_row);
    Tiles::template load<4>(x.data + depth, x.stride);
    Tiles::template add_products<0, 4, 6>();
    Tiles::template add_products<1, 4, 7>();
    if (!has_lower) continue;
    Tiles::template load<5>(x.data + kInt8TileRows * x.stride + depth, x.stride);
    Tiles::template add_products<2, 5, 6>();
    Tiles::template add_products<3, 5, 7>();
  }
  Tiles::template store<0>(sums, sum_row);
  Tiles::template store<1>(sums + kInt8TileCols, sum_row);
  if (!has_lower) return;
  Tiles::template store<2>(sums + kInt8TileRows * width, sum_row);
  Tiles::template store<3>(sums + kInt8TileRows * width + kInt8TileCols, sum_row);
}

template <typename Tiles>
constexpr Int8Kernel int8_tile_kernel_of(const char* name) {
  static_assert(4 * kInt8TileRows * kInt8TileCols <= kMostInt8Sums);
  return {.name = name,
          .cols = 2 * kInt8TileCols,
          .col_step = 2 * kInt8TileCols,
          .rows = 2 * kInt8TileRows,
          .uses_tiles = Tiles::kInRegisters,
          .multiply = int8_tile_panel<Tiles>};
}

// Loops that multiply like instructions with kColumns_ sums. kSaturates: pairs of products are added in 16 bits.
template <int kColumns_, bool kSaturates>
struct PortableInstructions {
  static constexpr int64_t kColumns = kColumns_;
  static constexpr int kRows = 4, kVecs = 2;
  struct Sums {
    int32_t of_column[kColumns_];
  };
  using Columns = const int8_t*;
  static Columns load(const int8_t* from) { return from; }
  static const uint8_t* broadcast(const uint8_t* group) { return group; }
  static int32_t pair(const uint8_t* x, const int8_t* w) {
    const int32_t sum = x[0] * w[0] + x[1] * w[1];
    return kSaturates ? (sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum) : sum;
  }
  static void add_products(Sums& sums, const uint8_t* group, Columns columns) {
    for (int64_t c = 0; c < kColumns; ++c, columns += kInt8Group)
      sums.of_column[c] += pair(group, columns) + pair(group + 2, columns + 2);
  }
  static void store(const Sums& sums, int32_t* to) {
    for (int64_t c = 0; c < kColumns; ++c) to[c] = sums.of_column[c];
  }
};

}  // namespace weft::cpu
