// tensor/cuda/rotary.cu: rotary positions: rotates pairs of a head's columns by the angle of their row, one
// thread per pair.
#include "tensor/cuda/launch.cuh"
#include "tensor/cuda/vector.cuh"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

constexpr int kPairThreads = 256;

template <typename T>
struct Rotation {
  int64_t rows, heads, pairs;  // pairs per head
  int64_t stride, step;        // columns between pairs, and between the partners of a pair
  Rows<T> x, y;
  const int32_t* positions;
  Rows<float> table;
  float direction;
};

template <typename T>
__global__ void __launch_bounds__(kPairThreads) rotate_pairs(Rotation<T> a) {
  const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, per_row = a.heads * a.pairs;
  const int64_t row = index / per_row, head = index % per_row / a.pairs, pair = index % a.pairs;
  if (row >= a.rows) return;
  const float* angles = a.table[a.positions[row]] + 2 * pair;
  const float sine = a.direction * angles[0], cosine = angles[1];
  const int64_t col = head * 2 * a.pairs + pair * a.stride;
  const float first = to_float(a.x[row][col]), second = to_float(a.x[row][col + a.step]);
  a.y[row][col] = from_float<T>(first * cosine - second * sine);
  a.y[row][col + a.step] = from_float<T>(first * sine + second * cosine);
}

}  // namespace

void rotary(Context& ctx, const ops::Rotary& a) {
  const int64_t pairs = a.table.cols() / 2;
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(ctx, "rotary", rotate_pairs<T>, blocks_for(a.x.numel() / 2, kPairThreads), kPairThreads, 0,
           Rotation<T>{.rows = a.x.rows(),
                       .heads = a.heads,
                       .pairs = pairs,
                       .stride = a.halves ? 1 : 2,
                       .step = a.halves ? pairs : 1,
                       .x = rows_of<T>(a.x),
                       .y = rows_of<T>(a.y),
                       .positions = vector_of<int32_t>(a.positions),
                       .table = rows_of<float>(a.table),
                       .direction = a.inverse ? -1.0f : 1.0f});
  });
}

}  // namespace weft::cuda
