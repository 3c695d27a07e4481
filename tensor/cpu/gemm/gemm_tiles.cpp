// tensor/cpu/gemm/gemm_tiles.cpp: packs the operands into panels, then computes 32 x 32 blocks of c, each
// with four tiles.
//
// For 32 depths, a block loads two tiles of each operand for four multiplications of 16 cycles each. They hide the
// loads if the right operand's panel is in the L1 cache. So 512 depths of the panel (32 KiB) are used at a time, and
// the left operand bypasses the L1 cache. A finished block is written while the next block is multiplied.
#include "tensor/cpu/gemm/gemm_tiles.h"

#if defined(__AVX512BW__)

#include <omp.h>

#include <algorithm>

#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/gemm/gemm_output.h"
#include "tensor/cpu/runtime.h"

namespace weft::cpu {

namespace {

constexpr int64_t kDepthBlock = 512;                // depths of a panel that stay in the L1 cache
constexpr int64_t kDepthGroup = 4 * kDepthBlock;    // depths summed before moving to the next columns
constexpr int64_t kLeftInCache = int64_t{1} << 19;  // elements of the left operand that stay in the L2 cache

struct Layout {            // layout of a GEMM and its scratch memory
  int64_t m, n, k, depth;  // depth: k rounded up to full blocks
  int64_t row_block, row_blocks, col_groups, panels_per_group;
  bool packs_left;  // if false, left tiles are loaded from the matrix, except for the last rows
  size_t right_bytes, thread_bytes, left_bytes, bytes;  // right panels; per thread: left panels, then sums
};

Layout layout_of(const ops::Gemm& a) {
  Layout l{};
  l.m = a.c.rows(), l.n = a.c.cols(), l.k = a.trans_a ? a.a.rows() : a.a.cols();
  l.depth = round_up_to_panel(l.k);
  const int64_t threads = omp_get_max_threads(), panels = round_up_to_panel(l.n) / kPanel;
  const int64_t rows_in_cache = kLeftInCache / std::min(l.depth, kDepthGroup) / kPanel * kPanel;
  l.row_block = std::min(rows_in_cache, round_up_to_panel((l.m + threads - 1) / threads));
  l.row_blocks = (l.m + l.row_block - 1) / l.row_block;
  const int64_t wanted = l.row_blocks % threads == 0 ? 1 : (threads + l.row_blocks - 1) / l.row_blocks;
  l.panels_per_group = (panels + wanted - 1) / wanted;
  l.col_groups = (panels + l.panels_per_group - 1) / l.panels_per_group;
  l.packs_left = a.trans_a || l.depth != l.k;
  const auto halves = [](int64_t n) { return static_cast<size_t>(n) * sizeof(BFloat16); };
  const auto floats = [](int64_t n) { return static_cast<size_t>(n) * sizeof(float); };
  const int64_t kept_panels = l.depth <= kDepthGroup ? 1 : l.panels_per_group;
  l.right_bytes = a.b.packed(a.trans_b).empty() ? halves(panels * kPanel * l.depth) : 0;
  l.left_bytes = halves((l.packs_left ? l.row_block : l.m % kPanel ? kPanel : 0) * l.depth);
  l.thread_bytes = l.left_bytes + floats((kept_panels * (l.row_block / kPanel) + 1) * kBlockSums);
  l.bytes = l.right_bytes + static_cast<size_t>(threads) * l.thread_bytes;
  return l;
}

int64_t rest(int64_t all, int64_t begin) { return std::min(kPanel, all - begin); }

// Packs the right operand with all threads of the parallel region, and ends with a barrier. Each row is read in order.
void pack_right(const Tensor& matrix, bool transposed, BFloat16* to) {
  const auto* b = matrix.ptr<BFloat16>();
  const int64_t k = transposed ? matrix.cols() : matrix.rows(), n = transposed ? matrix.rows() : matrix.cols();
  const int64_t panels = round_up_to_panel(n) / kPanel, blocks = round_up_to_panel(k) / kPanel;
  const int64_t stride = matrix.row_stride;
  if (transposed) {
#pragma omp for schedule(static)
    for (int64_t p = 0; p < panels; ++p)
      for (int64_t d = 0; d < blocks; ++d)
        pack_columns(b + p * kPanel * stride + d * kPanel, stride, rest(n, p * kPanel), rest(k, d * kPanel),
                     to + (p * blocks + d) * kPanelBlock);
  } else {
#pragma omp for schedule(static)
    for (int64_t d = 0; d < blocks; ++d)
      pack_row_pairs(b + d * kPanel * stride, stride, rest(k, d * kPanel), n, to + d * kPanelBlock,
                     blocks * kPanelBlock);
  }
}

// Packs rows [begin, end) of the left operand.
void pack_left(const ops::Gemm& a, const Layout& l, int64_t begin, int64_t end, BFloat16* to) {
  const auto* x = a.a.ptr<BFloat16>();
  const int64_t blocks = l.depth / kPanel, stride = a.a.row_stride;
  for (int64_t d = 0; d < blocks; ++d) {
    const int64_t depth = d * kPanel, rest_k = rest(l.k, depth);
    BFloat16* block = to + d * kPanelBlock;
    if (a.trans_a) {
      pack_column_pairs(x + depth * stride + begin, stride, rest_k, end - begin, block, blocks * kPanelBlock);
      continue;
    }
    for (int64_t row = begin; row < end; row += kPanel, block += blocks * kPanelBlock)
      pack_rows(x + row * stride + depth, stride, rest(end, row), rest_k, block);
  }
}

struct LeftRows {  // where a block's 32 rows of the left operand are in memory
  const BFloat16* data;
  int64_t block_stride, second_tile, row_bytes;
};

// Adds products to the four tiles of sums, and calls step(i) after block i of 32 depths.
template <typename Step>
inline void multiply(const LeftRows& left, const BFloat16* b, int64_t first, int64_t blocks, const Step& step) {
  const BFloat16* a = left.data + first * left.block_stride;
  for (int64_t i = 0; i < blocks; ++i, a += left.block_stride, b += kPanelBlock) {
    tile_load<6>(b, kTileBytes);
    tile_load_stream<4>(a, left.row_bytes);
    tile_multiply_add<0, 4, 6>();
    tile_load<7>(b + kTileSize, kTileBytes);
    tile_multiply_add<1, 4, 7>();
    tile_load_stream<5>(a + left.second_tile, left.row_bytes);
    tile_multiply_add<2, 5, 6>();
    tile_multiply_add<3, 5, 7>();
    step(i);
  }
}

inline void load_sums(const float* from) {
  tile_load<0>(from, kTileBytes);
  tile_load<1>(from + kTileSums, kTileBytes);
  tile_load<2>(from + 2 * kTileSums, kTileBytes);
  tile_load<3>(from + 3 * kTileSums, kTileBytes);
}
inline void zero_sums() {
  tile_zero<0>();
  tile_zero<1>();
  tile_zero<2>();
  tile_zero<3>();
}
inline void store_sums(float* to) {
  tile_store<0>(to, kTileBytes);
  tile_store<1>(to + kTileSums, kTileBytes);
  tile_store<2>(to + 2 * kTileSums, kTileBytes);
  tile_store<3>(to + 3 * kTileSums, kTileBytes);
}

struct Task {  // the rows and panels of c that one thread computes
  int64_t first_row, last_row, first_panel, last_panel;
};

// Packs all rows of the task if l.packs_left, otherwise only the last rows if they do not fill a panel.
void pack_left(const ops::Gemm& a, const Layout& l, const Task& t, BFloat16* packed) {
  if (l.packs_left)
    pack_left(a, l, t.first_row, t.last_row, packed);
  else if (t.last_row == l.m && l.m % kPanel != 0)
    pack_left(a, l, l.m / kPanel * kPanel, l.m, packed);
}

LeftRows left_rows(const ops::Gemm& a, const Layout& l, const Task& t, int64_t row, const BFloat16* packed) {
  if (l.packs_left) return {packed + (row - t.first_row) * l.depth, kPanelBlock, kTileSize, kTileBytes};
  if (row + kPanel > l.m) return {packed, kPanelBlock, kTileSize, kTileBytes};
  const int64_t stride = a.a.row_stride;
  return {a.a.ptr<BFloat16>() + row * stride, kPanel, 16 * stride, stride * static_cast<int64_t>(sizeof(BFloat16))};
}

void multiply_task(const ops::Gemm& a, const Layout& l, const BFloat16* right, const Task& t, BFloat16* packed,
                   float* sums) {
  pack_left(a, l, t, packed);
  BlockOutput output(a);
  float* const finished = sums;  // the previous block's sums, written while the next block is multiplied
  float* const partial = sums + kBlockSums;
  const int64_t num_rows = (t.last_row - t.first_row + kPanel - 1) / kPanel;
  for (int64_t group = 0; group < l.depth; group += kDepthGroup) {
    const int64_t group_end = std::min(l.depth, group + kDepthGroup);
    for (int64_t panel = t.first_panel; panel < t.last_panel; ++panel) {
      float* panel_sums = partial + (l.depth > kDepthGroup ? panel - t.first_panel : 0) * num_rows * kBlockSums;
      for (int64_t begin = group; begin < group_end; begin += kDepthBlock) {
        const int64_t end = std::min(group_end, begin + kDepthBlock), blocks = (end - begin) / kPanel;
        const int64_t rows_a_step = (kPanel + blocks - 1) / blocks;
        for (int64_t i = 0; i < num_rows; ++i) {
          const int64_t row = t.first_row + i * kPanel;
          if (begin == 0)
            zero_sums();
          else
            load_sums(panel_sums + i * kBlockSums);
          multiply(left_rows(a, l, t, row, packed), right + (panel * l.depth + begin) * kPanel, begin / kPanel, blocks,
                   [&](int64_t step) {
                     output.write(rows_a_step);
                     if (end == l.depth)
                       output.fetch(row, panel * kPanel, step * rows_a_step, (step + 1) * rows_a_step);
                   });
          if (end < l.depth) {
            store_sums(panel_sums + i * kBlockSums);
            continue;
          }
          output.finish();
          store_sums(finished);
          output.begin(finished, row, panel * kPanel);
        }
      }
    }
  }
  output.finish();
}

}  // namespace

bool has_gemm_tiles() { return has_amx(); }

int64_t packed_tiles_numel(int64_t k, int64_t n) { return round_up_to_panel(k) * round_up_to_panel(n); }

void pack_weight_tiles(const ops::Weight& weight) {
  for (const bool trans_b : {true, false}) {
    if (weight.packed(trans_b).empty()) continue;
#pragma omp parallel if (weight.matrix.numel() >= kWorthThreads)
    pack_right(weight.matrix, trans_b, weight.packed(trans_b).ptr<BFloat16>());
  }
}

size_t gemm_tiles_scratch(const ops::Gemm& a) { return layout_of(a).bytes; }

void gemm_tiles(const ops::Gemm& a, void* scratch) {
  const Layout l = layout_of(a);
  auto* memory = static_cast<char*>(scratch);
  auto* packed = reinterpret_cast<BFloat16*>(memory);
  const Tensor& weight = a.b.packed(a.trans_b);
  const BFloat16* right = weight.empty() ? packed : weight.ptr<BFloat16>();
  const int64_t panels = round_up_to_panel(l.n) / kPanel;
#pragma omp parallel if (l.m * l.n * l.k >= kWorthThreadsProduct)
  {
    if (weight.empty()) pack_right(a.b.matrix, a.trans_b, packed);
    const TileConfig tiles;
    char* mine = memory + l.right_bytes + static_cast<size_t>(omp_get_thread_num()) * l.thread_bytes;
#pragma omp for collapse(2) schedule(static)
    for (int64_t r = 0; r < l.row_blocks; ++r) {
      for (int64_t g = 0; g < l.col_groups; ++g) {
        const Task task{r * l.row_block, std::min(l.m, (r + 1) * l.row_block), g * l.panels_per_group,
                        std::min(panels, (g + 1) * l.panels_per_group)};
        multiply_task(a, l, right, task, reinterpret_cast<BFloat16*>(mine),
                      reinterpret_cast<float*>(mine + l.left_bytes));
      }
    }
  }
}

}  // namespace weft::cpu

#else  // other processors lack tiles

#include <cassert>

namespace weft::cpu {

bool has_gemm_tiles() { return false; }
size_t gemm_tiles_scratch(const ops::Gemm&) { return 0; }
void gemm_tiles(const ops::Gemm&, void*) { assert(false); }
int64_t packed_tiles_numel(int64_t, int64_t) { return 0; }
void pack_weight_tiles(const ops::Weight&) {}

}  // namespace weft::cpu

#endif
