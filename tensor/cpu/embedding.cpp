// tensor/cpu/embedding.cpp: looks up embeddings, computes their gradients, and adds positions.
#include <omp.h>

#include "tensor/cpu/dropout.h"
#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

template <typename T>
void look_up(const ops::EmbeddingForward& a) {
  const int64_t rows = a.y.rows(), cols = a.y.cols();
  const int32_t* ids = a.ids.ptr<int32_t>();
  const DropoutMask cut = a.cut.mask();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    T* y = a.y.ptr<T>() + r * a.y.row_stride;
    const int64_t id = ids[r], local = id - a.first_id;
    if (id < 0 || local < 0 || local >= a.table.rows() || cut.drops_row(r)) {
      std::fill_n(y, cols, T{});
      continue;
    }
    const T* source = a.table.ptr<T>() + local * a.table.row_stride;
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) y[c] = from_float<T>(a.scale * to_float(source[c]));
  }
}

// Each row of the table belongs to one thread, which adds gradients to the row in order.
template <typename T>
void add_to_rows(const ops::EmbeddingBackward& a) {
  const int64_t rows = a.d_y.rows(), cols = a.d_y.cols();
  const int32_t *ids = a.sorted.ids.ptr<int32_t>(), *row_of = a.sorted.rows.ptr<int32_t>();
  const DropoutMask cut = a.cut.mask();
#pragma omp parallel if (rows * cols >= kWorthThreads)
  {
    const int64_t num_threads = omp_get_num_threads(), thread = omp_get_thread_num();
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t id = ids[i], local = id - a.first_id;
      if (id < 0 || local < 0 || local >= a.d_table.rows() || local % num_threads != thread) continue;
      if (cut.drops_row(row_of[i])) continue;
      const T* d_y = a.d_y.ptr<T>() + row_of[i] * a.d_y.row_stride;
      float* target = a.d_table.ptr<float>() + local * a.d_table.row_stride;
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) target[c] += a.scale * to_float(d_y[c]);
    }
  }
}

template <typename T>
void add_rows_of_table(const ops::AddPositions& a) {
  const int64_t rows = a.x.rows(), cols = a.x.cols();
  const int32_t* positions = a.positions.ptr<int32_t>();
  const DropoutMask mask = a.dropout.mask();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    assert(positions[r] >= 0 && positions[r] < a.table.rows());
    const T* x = a.x.ptr<T>() + r * a.x.row_stride;
    const float* position = a.table.ptr<float>() + positions[r] * a.table.row_stride;
    T* y = a.y.ptr<T>() + r * a.y.row_stride;
    for_each_dropout_piece(mask, r, cols, [&](int64_t begin, int64_t end, const float* scales) {
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) {
        const float sum = to_float(x[c]) + position[c];
        y[c] = from_float<T>(scales ? sum * scales[c - begin] : sum);
      }
    });
  }
}

}  // namespace

void embedding_forward(Context&, const ops::EmbeddingForward& a) {
  for_storage(a.y.dtype, [&](auto zero) { look_up<decltype(zero)>(a); });
}

void embedding_backward(Context&, const ops::EmbeddingBackward& a) {
  for_storage(a.d_y.dtype, [&](auto zero) { add_to_rows<decltype(zero)>(a); });
}

void add_positions(Context&, const ops::AddPositions& a) {
  for_storage(a.y.dtype, [&](auto zero) { add_rows_of_table<decltype(zero)>(a); });
}

}  // namespace weft::cpu
