// tensor/cuda/embedding.cu: looks up embeddings and adds positions.
#include "tensor/cuda/dropout.cuh"
#include "tensor/cuda/groups.cuh"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

template <typename T, bool kCuts>
struct LookUpGroup {
  const int32_t* ids;
  Rows<T> table;
  int64_t first_id, num_ids;
  float scale;
  Rows<T> y;
  Dropout cut;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    const int64_t id = ids[row], local = id - first_id;
    float values[kGroup] = {};
    if (id >= 0 && local >= 0 && local < num_ids && !(kCuts && cut.mask().drops_row(row)))
      load(table[local] + col, count, values);
    for (float& v : values) v *= scale;
    store(values, y[row] + col, count);
  }
};

template <typename T>
struct AddPositionsGroup {
  Rows<T> x;
  const int32_t* positions;
  Rows<float> table;
  Rows<T> y;
  Dropout dropout;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float sum[kGroup];
    load(x[row] + col, count, sum);
    add_group(table[positions[row]] + col, count, sum);
    drop(dropout.mask(), row, col, sum);
    store(sum, y[row] + col, count);
  }
};

}  // namespace

void embedding_forward(Context& ctx, const ops::EmbeddingForward& a) {
  for_dropout(a.cut, [&](auto cuts) {
    for_storage(a.y.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch_groups(ctx, "embedding_forward", a.y.rows(), a.y.cols(),
                    LookUpGroup<T, decltype(cuts)::value>{vector_of<int32_t>(a.ids), rows_of<T>(a.table), a.first_id,
                                                          a.table.rows(), a.scale, rows_of<T>(a.y), a.cut});
    });
  });
}

void add_positions(Context& ctx, const ops::AddPositions& a) {
  for_storage(a.y.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_groups(ctx, "add_positions", a.x.rows(), a.x.cols(),
                  AddPositionsGroup<T>{rows_of<T>(a.x), vector_of<int32_t>(a.positions), rows_of<float>(a.table),
                                       rows_of<T>(a.y), a.dropout});
  });
}

}  // namespace weft::cuda
