// tensor/cuda/gemm/gemm_fallback.cu: computes GEMMs for which cuBLASLt has no algorithm, in tiles of 16 x 16 results.
// One thread sums each result in the order of the inner dimension, in f32.
#include "tensor/cuda/launch.cuh"
#include "tensor/half.h"

namespace weft::cuda {
namespace {

constexpr int kTile = 16;

template <typename T>
struct Operand {  // element (i, j) of op(matrix)
  const T* data;
  int64_t rows, cols, row_step, col_step;  // rows and columns of op(matrix)
  __device__ float at(int64_t i, int64_t j) const {
    return i < rows && j < cols ? to_float(data[i * row_step + j * col_step]) : 0.0f;
  }
};

template <typename T, typename C>
__global__ void __launch_bounds__(kTile* kTile)
    product_kernel(Operand<T> a, Operand<T> b, C* c, int64_t c_stride, const float* bias, bool accumulate) {
  __shared__ float a_tile[kTile * kTile];
  __shared__ float b_tile[kTile * kTile];
  const int x = static_cast<int>(threadIdx.x) % kTile, y = static_cast<int>(threadIdx.x) / kTile;
  const int64_t tiles_across = (b.cols + kTile - 1) / kTile;
  const int64_t row = blockIdx.x / tiles_across * kTile + y, col = blockIdx.x % tiles_across * kTile + x;
  float sum = 0;
  for (int64_t k = 0; k < a.cols; k += kTile) {
    a_tile[y * kTile + x] = a.at(row, k + x);
    b_tile[y * kTile + x] = b.at(k + y, col);
    __syncthreads();
    for (int p = 0; p < kTile; ++p) sum = fmaf(a_tile[y * kTile + p], b_tile[p * kTile + x], sum);
    __syncthreads();
  }
  if (row >= a.rows || col >= b.cols) return;
  if (bias != nullptr) sum += bias[col];
  C& result = c[row * c_stride + col];
  result = from_float<C>(accumulate ? sum + to_float(result) : sum);
}

template <typename T>
Operand<T> operand(const Tensor& t, bool transposed) {
  const T* data = t.ptr<T>();
  if (transposed) return {data, t.cols(), t.rows(), 1, t.row_stride};
  return {data, t.rows(), t.cols(), t.row_stride, 1};
}

template <typename T, typename C>
void multiply(Context& ctx, const ops::Gemm& a) {
  const int64_t tiles = blocks_for(a.c.rows(), kTile) * static_cast<int64_t>(blocks_for(a.c.cols(), kTile));
  launch(ctx, "gemm_fallback", product_kernel<T, C>, static_cast<unsigned>(tiles), kTile * kTile, 0,
         operand<T>(a.a, a.trans_a), operand<T>(a.b.matrix, a.trans_b), a.c.ptr<C>(), a.c.row_stride,
         a.bias.empty() ? nullptr : a.bias.ptr<float>(), a.accumulate);
}

}  // namespace

void gemm_fallback(Context& ctx, const ops::Gemm& a) {
  for_storage(a.a.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (a.c.dtype == DType::f32)
      multiply<T, float>(ctx, a);
    else
      multiply<T, T>(ctx, a);
  });
}

}  // namespace weft::cuda
