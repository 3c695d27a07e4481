// tensor/cuda/rotary.cu: rotary positions: rotates pairs of a head's columns by the angle of their row, one block per
// row, so that a pair costs one division of 32 bits.
#include <algorithm>

#include "tensor/cuda/launch.cuh"
#include "tensor/cuda/vector.cuh"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

constexpr int64_t kPairThreads = 256;

template <typename T>
struct Rotation {
  int heads, pairs;  // pairs per head
  int stride, step;  // columns between pairs, and between the partners of a pair
  Rows<T> x, y;
  const int32_t* positions;
  Rows<float> table;
  float direction;
};

template <typename T>
__global__ void __launch_bounds__(kPairThreads) rotate_pairs(Rotation<T> a) {
  const int64_t row = blockIdx.x;
  const float* const angles = a.table[a.positions[row]];
  const T* const x = a.x[row];
  T* const y = a.y[row];
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < a.heads * a.pairs; i += static_cast<int>(blockDim.x)) {
    const int head = i / a.pairs, pair = i - head * a.pairs;
    const float sine = a.direction * angles[2 * pair], cosine = angles[2 * pair + 1];
    const int col = head * 2 * a.pairs + pair * a.stride;
    const float first = to_float(x[col]), second = to_float(x[col + a.step]);
    y[col] = from_float<T>(first * cosine - second * sine);
    y[col + a.step] = from_float<T>(first * sine + second * cosine);
  }
}

}  // namespace

void rotary(Context& ctx, const ops::Rotary& a) {
  const int pairs = static_cast<int>(a.table.cols() / 2), heads = static_cast<int>(a.heads);
  const int64_t threads = std::min(kPairThreads, (int64_t{heads} * pairs + 31) / 32 * 32);
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(ctx, "rotary", rotate_pairs<T>, static_cast<unsigned>(a.x.rows()), static_cast<unsigned>(threads), 0,
           Rotation<T>{.heads = heads,
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
