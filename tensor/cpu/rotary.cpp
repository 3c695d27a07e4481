// tensor/cpu/rotary.cpp: rotary positions: rotates pairs of a head's columns by the angle of their row.
#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

struct Pairs {  // pairs start `stride` columns apart; the columns of a pair are `step` apart
  int64_t count, stride, step;
};

template <typename T>
void rotate_head(const T* x, const float* angles, float direction, Pairs pairs, T* y) {
  const auto [count, stride, step] = pairs;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float sine = direction * angles[2 * i], cosine = angles[2 * i + 1];
    const float first = to_float(x[i * stride]), second = to_float(x[i * stride + step]);
    y[i * stride] = from_float<T>(first * cosine - second * sine);
    y[i * stride + step] = from_float<T>(first * sine + second * cosine);
  }
}

}  // namespace

void rotary(Context&, const ops::Rotary& a) {
  const int64_t rows = a.x.rows(), size = a.table.cols();
  const Pairs pairs{size / 2, a.halves ? 1 : 2, a.halves ? size / 2 : 1};
  const int32_t* positions = a.positions.ptr<int32_t>();
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
#pragma omp parallel for schedule(static) if (a.x.numel() >= kWorthThreads)
    for (int64_t r = 0; r < rows; ++r) {
      const float* angles = a.table.ptr<float>() + positions[r] * a.table.row_stride;
      const T* x = a.x.ptr<T>() + r * a.x.row_stride;
      T* y = a.y.ptr<T>() + r * a.y.row_stride;
      for (int64_t head = 0; head < a.heads; ++head)
        rotate_head(x + head * size, angles, a.inverse ? -1.0f : 1.0f, pairs, y + head * size);
    }
  });
}

}  // namespace weft::cpu
