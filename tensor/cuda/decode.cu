// tensor/cuda/decode.cu: gathers and scatters rows, and finds the top k of a row, for beam search.
#include <limits>

#include "tensor/cuda/groups.cuh"
#include "tensor/elementary.h"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

// Sets y[to[r]] = x[from[r]]. If `from` or `to` is null, r itself is the index.
template <typename T>
struct CopyRowGroup {
  Rows<T> x, y;
  const int32_t *from, *to;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    T values[kGroup];
    load_stored(x[from != nullptr ? from[row] : row] + col, count, values);
    store_stored(values, y[to != nullptr ? to[row] : row] + col, count);
  }
};

// The sort key is larger for a larger value and, for equal values, for a lower column. NaN is below any value. Keys of
// a row are distinct and never 0.
using Rank = uint64_t;
__device__ Rank rank_of(float value, int64_t column) {
  const uint32_t bits = bits_from_float(value == 0.0f ? 0.0f : value);  // -0 is 0
  const uint32_t ordered = value != value ? 0u : bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
  return static_cast<Rank>(ordered) << 32 | (0xFFFFFFFFu - static_cast<uint32_t>(column));
}
__device__ int64_t column_of(Rank rank) { return 0xFFFFFFFFu - static_cast<uint32_t>(rank); }

// Columns whose class is not allowed in this row count as -inf (ops::TopK).
struct ColumnRules {
  const int32_t* classes;  // null: all are allowed
  uint32_t allowed;
  __device__ float operator()(float value, int64_t column) const {
    if (classes == nullptr || (allowed >> classes[column] & 1u) != 0u) return value;
    return -std::numeric_limits<float>::infinity();
  }
};

// Returns the highest rank below `limit` among the thread's columns, or 0 if there is none.
template <typename T>
__device__ Rank best_below(const T* row, int64_t valid, Rank limit, ColumnRules rules) {
  Rank best = 0;
  for (int64_t col = threadIdx.x * kGroup; col < valid; col += blockDim.x * kGroup) {
    float x[kGroup];
    load(row + col, valid - col, x);
    for (int i = 0; i < kGroup; ++i) {
      const Rank rank = col + i < valid ? rank_of(rules(x[i], col + i), col + i) : 0;
      if (rank < limit && rank > best) best = rank;
    }
  }
  return best;
}

// Returns the block's maximum. `parts` is shared memory, one value per warp.
__device__ Rank block_max(Rank rank, Rank* parts) {
  const unsigned lane = threadIdx.x % kWarp;
  rank = warp_max(rank);
  __syncthreads();  // the previous maximum has been read
  if (lane == 0) parts[threadIdx.x / kWarp] = rank;
  __syncthreads();
  return warp_max(lane < blockDim.x / kWarp ? parts[lane] : Rank{0});
}

// One block processes a row. Each thread keeps the best of its own columns. The thread whose column is the best in the
// block writes it, and then finds its next best column.
template <typename T>
__global__ void __launch_bounds__(kGroupThreads)
    best_columns(Rows<T> x, int64_t valid, int64_t k, float* values, int32_t* columns, const int32_t* classes,
                 const int32_t* allowed) {
  __shared__ Rank parts[kGroupThreads / kWarp];
  const int64_t row = blockIdx.x;
  const T* from = x[row];
  const ColumnRules rules{classes, allowed != nullptr ? static_cast<uint32_t>(allowed[row]) : 0u};
  Rank own = best_below(from, valid, ~Rank{0}, rules);
  for (int64_t i = row * k; i < (row + 1) * k; ++i) {
    const Rank best = block_max(own, parts);
    if (best != own) continue;
    const int64_t column = column_of(best);
    values[i] = rules(to_float(from[column]), column);
    columns[i] = static_cast<int32_t>(column);
    own = best_below(from, valid, best, rules);
  }
}

}  // namespace

void gather_rows(Context& ctx, const ops::GatherRows& a) {
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_groups(ctx, "gather_rows", a.y.rows(), a.y.cols(),
                  CopyRowGroup<T>{rows_of<T>(a.x), rows_of<T>(a.y), vector_of<int32_t>(a.rows), nullptr});
  });
}

void scatter_rows(Context& ctx, const ops::ScatterRows& a) {
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_groups(ctx, "scatter_rows", a.x.rows(), a.x.cols(),
                  CopyRowGroup<T>{rows_of<T>(a.x), rows_of<T>(a.y), nullptr, vector_of<int32_t>(a.rows)});
  });
}

void top_k(Context& ctx, const ops::TopK& a) {
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(ctx, "top_k", best_columns<T>, static_cast<unsigned>(a.x.rows()), threads_of_row(a.valid), 0,
           rows_of<T>(a.x), a.valid, a.values.cols(), a.values.ptr<float>(), a.columns.ptr<int32_t>(),
           vector_of<int32_t>(a.classes), vector_of<int32_t>(a.allowed));
  });
}

}  // namespace weft::cuda
