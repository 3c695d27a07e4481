// tests/prediction/gemm_time.cpp: waves of tiles.
#include "tests/prediction/gemm_time.h"

#include <algorithm>
#include <limits>

#include "tests/prediction/kernel_costs.h"

namespace weft {
namespace {

// Tiles of cuBLASLt's kernels for 16-bit operands. Smaller ones read more of both operands for each product, so
// they have a share of the main loop's rate: chosen such that products with sums of 512 terms and 4096 rows reach
// 450 to 550 Tflop/s on a H100, as is typical of them.
struct GemmTile {
  int64_t m, n;
  double share;
};
constexpr GemmTile kTiles[] = {{128, 256, 1},  {256, 128, 1},  {128, 192, 0.97}, {192, 128, 0.97}, {128, 128, 0.9},
                               {64, 256, 0.8}, {256, 64, 0.8}, {128, 64, 0.75},  {64, 128, 0.75},  {64, 64, 0.55}};
constexpr int64_t kSumParts[] = {1, 2, 3, 4, 5, 6, 8, 12, 16};
constexpr int64_t kTermsAtOnce = 64;             // terms that the main loop takes at once
constexpr double kStartAndEnd = 2.0e-6;          // seconds: filling the pipeline, and storing the tile
constexpr int64_t kMinTerms = 2 * kTermsAtOnce;  // of a part of a sum

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

double gemm_seconds(const GpuModel& gpu, const GemmShape& g, bool graph) {
  const auto numel = static_cast<double>(g.m * g.n);
  double best = std::numeric_limits<double>::infinity();
  for (const GemmTile& tile : kTiles)
    for (const int64_t parts : kSumParts) {
      if (parts > 1 && g.k / parts < kMinTerms) continue;
      const int64_t blocks = ceil_of(g.m, tile.m) * ceil_of(g.n, tile.n) * parts, waves = ceil_of(blocks, gpu.sms);
      const int64_t terms = ceil_of(ceil_of(g.k, parts), kTermsAtOnce) * kTermsAtOnce;
      const double main_loop =
          2.0 * static_cast<double>(tile.m * tile.n * terms) / (gpu.matmul_flops_per_sm * tile.share);
      const double product = static_cast<double>(waves) * (main_loop + kStartAndEnd);
      double seconds = gpu.gap(graph) + std::max(product, g.bytes / gpu.bandwidth);
      if (parts > 1) {
        const double f32_parts = static_cast<double>(parts) * numel * sizeof(float);
        const double c = numel * static_cast<double>(g.c_bytes * (g.adds_to_c ? 2 : 1));
        seconds += gpu.gap(graph) + kKernelRamp + (f32_parts + c) / gpu.bandwidth;
      }
      best = std::min(best, seconds);
    }
  return best;
}

}  // namespace weft
