// tensor/cuda/normalization_backward.cu: computes gradients of norms, also fused with the residual sum. Each row is
// read once and written once. A block processes a range of rows. Its threads sum the parameter gradients of their
// columns in registers until the range is done.
#include "tensor/cuda/dropout.cuh"
#include "tensor/cuda/normalization.cuh"
#include "tensor/cuda/reduce.cuh"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

template <typename T>
struct Backward {
  int64_t rows, cols;
  Rows<T> d_y, h;
  const float *gamma, *mean, *rstd;  // mean may be null
  Rows<T> d_residual;                // may be absent
  Rows<T> d_h;
  Rows<T> d_x;     // absent if it is d_h
  float* partial;  // [ranges, sums, cols]
  int sums;        // number of sums: d_gamma, d_beta and, if 3, d_bias
  Dropout dropout;
};

// A thread's sums over its range of rows for d_gamma, d_beta and d_bias.
template <int kGroups>
struct ColumnSums {
  float gamma[kGroups][kGroup] = {}, beta[kGroups][kGroup] = {}, bias[kGroups][kGroup] = {};
};

// A thread's part of a row in registers: the normalized values, and their gradient g = d_y gamma.
template <int kGroups>
struct HeldRow {
  float rstd = 0;
  float normalised[kGroups][kGroup] = {}, g[kGroups][kGroup] = {};
  float means[2] = {};  // means of g, and of g times the normalized row; at first sums
};

template <int kGroups, typename T>
__device__ void read_row(const Backward<T>& a, int64_t row, HeldRow<kGroups>& held, ColumnSums<kGroups>& sums) {
  const float mean = a.mean == nullptr ? 0.0f : a.mean[row];
  held.rstd = a.rstd[row];
  for (int k = 0; k < kGroups; ++k) {
    const int64_t col = team_column(k), count = a.cols - col;
    float d_y[kGroup], gamma[kGroup];
    load(a.h[row] + col, count, held.normalised[k]);
    load(a.d_y[row] + col, count, d_y);
    load(a.gamma + col, count, gamma);
    for (int i = 0; i < kGroup; ++i) {
      const float normalised = (held.normalised[k][i] - mean) * held.rstd, g = d_y[i] * gamma[i];
      held.normalised[k][i] = normalised;
      held.g[k][i] = g;
      held.means[0] += g;
      held.means[1] += g * normalised;
      sums.gamma[k][i] += d_y[i] * normalised;
      sums.beta[k][i] += d_y[i];
    }
  }
}

template <int kGroups, typename T>
__device__ void write_row(const Backward<T>& a, const DropoutMask& dropout, int64_t row, const HeldRow<kGroups>& held,
                          ColumnSums<kGroups>& sums) {
  for (int k = 0; k < kGroups; ++k) {
    const int64_t col = team_column(k), count = a.cols - col;
    if (count <= 0) return;
    float d[kGroup];
    for (int i = 0; i < kGroup; ++i)
      d[i] = (held.g[k][i] - held.means[0] - held.normalised[k][i] * held.means[1]) * held.rstd;
    if (a.d_residual.data != nullptr) add_group(a.d_residual[row] + col, count, d);
    store(d, a.d_h[row] + col, count);
    drop(dropout, row, col, d);
    if (a.d_x.data != nullptr) store(d, a.d_x[row] + col, count);
    for (int i = 0; i < kGroup; ++i) sums.bias[k][i] += d[i];
  }
}

template <int kGroups, typename T>
__global__ void __launch_bounds__(kTeamThreads) norm_backward(Backward<T> a) {
  __shared__ float parts[2 * kTeamThreads / kWarp];
  const DropoutMask dropout = a.dropout.mask();
  const int64_t range = blockIdx.x, ranges = gridDim.x, end = a.rows * (range + 1) / ranges;
  ColumnSums<kGroups> sums;
  for (int64_t first = a.rows * range / ranges; first < end; first += blockDim.y) {
    const int64_t row = first + threadIdx.y;
    HeldRow<kGroups> held;
    if (row < end) read_row(a, row, held, sums);
    team_sums(held.means, parts);
    for (float& mean : held.means) mean /= static_cast<float>(a.cols);
    if (a.mean == nullptr) held.means[0] = 0;
    if (row < end) write_row(a, dropout, row, held, sums);
  }
  float *exchange = shared_memory<float>(), *to = a.partial + range * a.sums * a.cols;
  for (int k = 0; k < kGroups; ++k) {
    const int64_t col = team_column(k), count = a.cols - col;
    sum_over_y(sums.gamma[k], exchange, to + col, count);
    sum_over_y(sums.beta[k], exchange, to + a.cols + col, count);
    if (a.sums > 2) sum_over_y(sums.bias[k], exchange, to + 2 * a.cols + col, count);
  }
}

template <typename T>
void launch_backward(Context& ctx, const char* name, const Backward<T>& a) {
  constexpr int64_t kRanges = ops::kNormPartials;
  const dim3 block = block_of_teams((a.rows + kRanges - 1) / kRanges, a.cols);
  for_width(a.cols, [&](auto groups) {
    launch(ctx, name, norm_backward<decltype(groups)::value, T>, kRanges, block, exchange_bytes(block), a);
  });
}

void add_sums(Context& ctx, const char* name, const ops::NormSums& a) {
  SeveralRangeSums all;
  int64_t cols = 0;
  for (const ops::NormSums::Norm& norm : a.norms) {
    if (norm.partial.empty()) continue;
    all.of[all.count++] = {.partial = vector_of(norm.partial),
                           .sums = norm.partial.dim(1),
                           .y = {vector_of(norm.d_gamma), vector_of(norm.d_beta), vector_of(norm.d_bias)}};
    cols = norm.d_gamma.numel();
  }
  add_ranges(ctx, name, ops::kNormPartials, cols, all);
}

}  // namespace

void norm_backward(Context& ctx, const ops::NormBackward& a) {
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_backward(ctx, "norm_backward",
                    Backward<T>{.rows = a.x.rows(),
                                .cols = a.x.cols(),
                                .d_y = rows_of<T>(a.d_y),
                                .h = rows_of<T>(a.x),
                                .gamma = vector_of(a.gamma),
                                .mean = vector_of(a.mean),
                                .rstd = vector_of(a.rstd),
                                .d_residual = rows_of<T>(a.d_residual),
                                .d_h = rows_of<T>(a.d_x),
                                .partial = vector_of(a.partial),
                                .sums = 2});
  });
  if (!a.sums_later)
    add_sums(ctx, "norm_backward",
             {.norms = {ops::NormSums::Norm{.partial = a.partial, .d_gamma = a.d_gamma, .d_beta = a.d_beta}}});
}

void residual_norm_backward(Context& ctx, const ops::ResidualNormBackward& a) {
  for_storage(a.h.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_backward(ctx, "residual_norm_backward",
                    Backward<T>{.rows = a.h.rows(),
                                .cols = a.h.cols(),
                                .d_y = rows_of<T>(a.d_y),
                                .h = rows_of<T>(a.h),
                                .gamma = vector_of(a.gamma),
                                .mean = vector_of(a.mean),
                                .rstd = vector_of(a.rstd),
                                .d_residual = rows_of<T>(a.d_residual),
                                .d_h = rows_of<T>(a.d_h),
                                .d_x = a.d_x.data == a.d_h.data ? Rows<T>{} : rows_of<T>(a.d_x),
                                .partial = vector_of(a.partial),
                                .sums = 3,
                                .dropout = a.dropout});
  });
  if (!a.sums_later)
    add_sums(ctx, "residual_norm_backward",
             {.norms = {ops::NormSums::Norm{
                  .partial = a.partial, .d_gamma = a.d_gamma, .d_beta = a.d_beta, .d_bias = a.d_bias}}});
}

void norm_sums(Context& ctx, const ops::NormSums& a) { add_sums(ctx, "norm_sums", a); }

}  // namespace weft::cuda
