// tensor/cuda/reduce.cu: computes column sums, sums and sums of squares, in an order that depends only on shapes.
#include "tensor/cuda/reduce.cuh"

#include <algorithm>

#include "tensor/ops.h"

namespace weft::cuda {

namespace {

constexpr int kThreads = 256;

// In column_sum, a block sums up to 32 adjacent groups of columns over one range of rows.
constexpr int64_t kMaxRanges = 64, kMinRows = 16, kGroupsAcross = 32;

int64_t ranges_of(int64_t rows) { return std::clamp<int64_t>(rows / kMinRows, 1, kMaxRanges); }

template <typename T>
__global__ void __launch_bounds__(kThreads) sum_ranges(Rows<T> x, int64_t rows, int64_t cols, float* partial) {
  float* exchange = shared_memory<float>();
  const int64_t range = blockIdx.x, ranges = gridDim.x, end = rows * (range + 1) / ranges;
  const int64_t col = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * kGroup;
  float sum[kGroup] = {};
  for (int64_t r = rows * range / ranges + threadIdx.y; r < end; r += blockDim.y)
    add_group(x[r] + col, cols - col, sum);
  sum_over_y(sum, exchange, partial + range * cols + col, cols - col);
}

// Each warp sums 32 columns over one eighth of the ranges. Then the first warp adds the eighths in order.
constexpr int kEighths = kThreads / kWarp;

__global__ void __launch_bounds__(kThreads)
    add_in_order(int64_t ranges, int64_t cols, const __grid_constant__ SeveralRangeSums all) {
  const RangeSums& a = all.of[blockIdx.z];
  __shared__ float eighths[kEighths][kWarp];
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x, eighth = threadIdx.y;
  float* y = a.y[blockIdx.y];
  if (y == nullptr) return;
  const int64_t end = ranges * (eighth + 1) / kEighths;
  float sum = 0;
#pragma unroll 8
  for (int64_t range = ranges * eighth / kEighths; range < end; ++range)
    sum += c < cols ? a.partial[(range * a.sums + blockIdx.y) * cols + c] : 0.0f;
  eighths[eighth][threadIdx.x] = sum;
  __syncthreads();
  if (eighth > 0 || c >= cols) return;
  for (int other = 1; other < kEighths; ++other) sum += eighths[other][threadIdx.x];
  y[c] += sum;
}

// In sum and sum_squares, each thread sums groups of eight elements, gridDim.x * kThreads groups apart.
constexpr int64_t kElementsPerBlock = kThreads * kGroup, kMaxBlocks = 512;

int64_t blocks_of(int64_t n) {
  return std::clamp<int64_t>((n + kElementsPerBlock - 1) / kElementsPerBlock, 1, kMaxBlocks);
}

template <bool kSquared>
__global__ void __launch_bounds__(kThreads) sum_blocks(const float* x, int64_t n, double* partial) {
  __shared__ double parts[kWarp];
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads * kGroup;
  double sum = 0;
  for (int64_t at = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kGroup; at < n; at += step) {
    float values[kGroup];
    load(x + at, n - at, values);
    for (const float v : values) sum += kSquared ? static_cast<double>(v) * static_cast<double>(v) : v;
  }
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads) add_partials(const double* partial, int64_t count, double* y) {
  __shared__ double parts[kWarp];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) sum += partial[i];
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) *y += sum;
}

void reserve_sums(Context& ctx, int64_t n) {
  runtime(ctx).reserve(Runtime::kReduction, static_cast<size_t>(blocks_of(n)) * sizeof(double));
}

template <bool kSquared>
void add_sum(Context& ctx, const char* name, const Tensor& x, const Tensor& y) {
  reserve_sums(ctx, x.numel());
  const int64_t blocks = blocks_of(x.numel());
  auto* partial = runtime(ctx).scratch<double>(Runtime::kReduction);
  launch(ctx, name, sum_blocks<kSquared>, static_cast<unsigned>(blocks), kThreads, 0, x.ptr<float>(), x.numel(),
         partial);
  launch(ctx, name, add_partials, 1, kThreads, 0, partial, blocks, y.ptr<double>());
}

}  // namespace

void add_ranges(Context& ctx, const char* name, int64_t ranges, int64_t cols, const SeveralRangeSums& all) {
  int64_t most = 0;
  for (const RangeSums& a : all.of) most = std::max(most, a.sums);
  if (most == 0) return;
  launch(ctx, name, add_in_order,
         dim3(blocks_for(cols, kWarp), static_cast<unsigned>(most), static_cast<unsigned>(all.count)),
         dim3(kWarp, kEighths), 0, ranges, cols, all);
}

void measure(Context& ctx, const ops::ColumnSum& a) {
  const int64_t numel = ranges_of(a.x.rows()) * a.x.cols();
  runtime(ctx).reserve(Runtime::kReduction, static_cast<size_t>(numel) * sizeof(float));
}
void measure(Context& ctx, const ops::Sum& a) { reserve_sums(ctx, a.x.numel()); }
void measure(Context& ctx, const ops::SumSquares& a) { reserve_sums(ctx, a.x.numel()); }

void column_sum(Context& ctx, const ops::ColumnSum& a) {
  measure(ctx, a);
  const int64_t rows = a.x.rows(), cols = a.x.cols(), ranges = ranges_of(rows);
  auto* partial = runtime(ctx).scratch<float>(Runtime::kReduction);
  unsigned wide = 1;
  while (wide < kGroupsAcross && wide * kGroup < cols) wide *= 2;
  const auto high = static_cast<unsigned>(std::clamp<int64_t>((rows + ranges - 1) / ranges, 1, kThreads / wide));
  const dim3 grid(static_cast<unsigned>(ranges), blocks_for(cols, wide * kGroup));
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(ctx, "column_sum", sum_ranges<T>, grid, dim3(wide, high), exchange_bytes(dim3(wide, high)), rows_of<T>(a.x),
           rows, cols, partial);
  });
  add_ranges(ctx, "column_sum", ranges, cols,
             {.of = {{.partial = partial, .sums = 1, .y = {a.y.ptr<float>()}}}, .count = 1});
}

void sum(Context& ctx, const ops::Sum& a) { add_sum<false>(ctx, "sum", a.x, a.y); }
void sum_squares(Context& ctx, const ops::SumSquares& a) { add_sum<true>(ctx, "sum_squares", a.x, a.y); }

}  // namespace weft::cuda
