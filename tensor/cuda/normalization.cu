// tensor/cuda/normalization.cu: computes norms, also fused with the residual sum. Each row is read once, held in
// registers and written once.
#include "tensor/cuda/normalization.cuh"

#include <cmath>

#include "tensor/cuda/reduce.cuh"
#include "tensor/cuda/residual.cuh"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

template <typename T>
struct Forward {
  int64_t rows, cols;
  ResidualSum<T> in;
  Rows<T> h;                  // null, or the rounded sum
  const float *gamma, *beta;  // beta may be null
  Rows<T> y;
  float *mean, *rstd;  // mean may be null
  Dropout dropout;
  NormKind kind;
  float eps;
};

// Computes and stores the group of h at (row, col).
template <typename T>
__device__ void sum_group(const Forward<T>& a, const DropoutMask& dropout, int64_t row, int64_t col,
                          float (&h)[kGroup]) {
  if (col >= a.cols) return;
  a.in.load_sum(dropout, row, col, a.cols - col, h);
  if (a.h.data == nullptr) return;
  round_group<T>(h);  // backward reads the rounded sum
  store(h, a.h[row] + col, a.cols - col);
}

template <typename T>
__device__ void normalise_group(const Forward<T>& a, float mean, float rstd, int64_t row, int64_t col,
                                const float (&h)[kGroup]) {
  float gamma[kGroup], y[kGroup] = {};
  load(a.gamma + col, a.cols - col, gamma);
  if (a.beta != nullptr) load(a.beta + col, a.cols - col, y);
  for (int i = 0; i < kGroup; ++i) y[i] += (h[i] - mean) * rstd * gamma[i];
  store(y, a.y[row] + col, a.cols - col);
}

template <int kGroups, typename T>
__global__ void __launch_bounds__(kTeamThreads) norm_forward(Forward<T> a) {
  __shared__ float parts[kTeamThreads / kWarp];
  const DropoutMask dropout = a.dropout.mask();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const bool exists = row < a.rows;  // a team without a row still participates in the sums
  const float inverse_cols = 1.0f / static_cast<float>(a.cols);
  float h[kGroups][kGroup] = {};
  float sum[1] = {0};
  for (int k = 0; k < kGroups; ++k) {
    if (exists) sum_group(a, dropout, row, team_column(k), h[k]);
    for (const float value : h[k]) sum[0] += value;
  }
  team_sums(sum, parts);
  const float mean = formula_of(a.kind).centred ? inverse_cols * sum[0] : 0.0f;
  float squares[1] = {0};
  for (int k = 0; k < kGroups; ++k) {
    for (int i = 0; i < kGroup; ++i)
      if (team_column(k) + i < a.cols) squares[0] += (h[k][i] - mean) * (h[k][i] - mean);
  }
  team_sums(squares, parts);
  const float rstd = 1.0f / std::sqrt(squares[0] * inverse_cols + a.eps);
  if (!exists) return;
  for (int k = 0; k < kGroups; ++k) normalise_group(a, mean, rstd, row, team_column(k), h[k]);
  if (threadIdx.x == 0) {
    if (a.mean != nullptr) a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <typename T>
void launch_forward(Context& ctx, const char* name, const Forward<T>& a) {
  const dim3 block = block_of_teams(a.rows, a.cols);
  for_width(a.cols, [&](auto groups) {
    launch(ctx, name, norm_forward<decltype(groups)::value, T>, blocks_for(a.rows, block.y), block, 0, a);
  });
}

}  // namespace

void norm_forward(Context& ctx, const ops::NormForward& a) {
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_forward(ctx, "norm_forward",
                   Forward<T>{.rows = a.x.rows(),
                              .cols = a.x.cols(),
                              .in = {{}, rows_of<T>(a.x)},
                              .gamma = vector_of(a.gamma),
                              .beta = vector_of(a.beta),
                              .y = rows_of<T>(a.y),
                              .mean = vector_of(a.mean),
                              .rstd = vector_of(a.rstd),
                              .kind = a.kind,
                              .eps = a.eps});
  });
}

void residual_norm_forward(Context& ctx, const ops::ResidualNormForward& a) {
  for_storage(a.h.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_forward(ctx, "residual_norm_forward",
                   Forward<T>{.rows = a.x.rows(),
                              .cols = a.x.cols(),
                              .in = {rows_of<T>(a.residual), rows_of<T>(a.x), vector_of(a.bias)},
                              .h = rows_of<T>(a.h),
                              .gamma = vector_of(a.gamma),
                              .beta = vector_of(a.beta),
                              .y = rows_of<T>(a.y),
                              .mean = vector_of(a.mean),
                              .rstd = vector_of(a.rstd),
                              .dropout = a.dropout,
                              .kind = a.kind,
                              .eps = a.eps});
  });
}

}  // namespace weft::cuda
