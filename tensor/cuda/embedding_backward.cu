// tensor/cuda/embedding_backward.cu: the gradient of look-up: rows are sorted by id, and each run of equal
// ids is summed by one owner. No atomics: the sums are the same on every run.
//
// Frequent tokens have long runs, so the sorted rows are cut into chunks that are summed in parallel. A run
// within one chunk is added to the table at once. A run across chunks leaves a partial sum in each, which its
// first chunk adds up.
#include <algorithm>

#include "tensor/cuda/groups.cuh"
#include "tensor/cuda/sorted_rows.cuh"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

constexpr int64_t kChunk = 32;  // rows

// Scratch memory: keys twice, then per chunk the partial sums [chunks, 2, D] of the run that began before it
// and of the one that crosses its end.
struct Layout {
  int64_t rows, cols;
  int64_t chunks() const { return (rows + kChunk - 1) / kChunk; }
  size_t keys_bytes() const { return static_cast<size_t>(rows) * sizeof(SortKey); }
  size_t bytes() const { return 2 * keys_bytes() + static_cast<size_t>(2 * chunks() * cols) * sizeof(float); }
};
Layout layout_of(const ops::EmbeddingBackward& a) { return {a.d_y.rows(), a.d_y.cols()}; }

struct Runs {
  const SortKey* keys;
  int64_t rows, cols, num_ids;
  float* parts;
  float scale;
  Rows<float> d_table;

  __device__ int64_t id_at(int64_t i) const { return i >= 0 && i < rows ? id_of(keys[i]) : -1; }
  __device__ float* from_before(int64_t chunk) const { return parts + 2 * chunk * cols; }
  __device__ float* begun_in(int64_t chunk) const { return parts + (2 * chunk + 1) * cols; }
  __device__ void add_to_table(int64_t id, int64_t col, int64_t count, const float (&sum)[kGroup]) const {
    float total[kGroup];
    load(d_table[id] + col, count, total);
    for (int i = 0; i < kGroup; ++i) total[i] += scale * sum[i];
    store(total, d_table[id] + col, count);
  }
};

template <typename T>
struct SumChunk {
  Runs runs;
  Rows<T> d_y;
  __device__ void operator()(int64_t chunk, int64_t col, int64_t count) const {
    const int64_t begin = chunk * kChunk, end = begin + kChunk < runs.rows ? begin + kChunk : runs.rows;
    bool began_before = runs.id_at(begin - 1) == runs.id_at(begin);
    float sum[kGroup] = {};
    for (int64_t i = begin; i < end; ++i) {
      const int64_t id = runs.id_at(i);
      if (id == runs.num_ids) return;  // these and all following rows belong to other ranks
      add_group(d_y[row_of(runs.keys[i])] + col, count, sum);
      const bool run_ends = runs.id_at(i + 1) != id;
      if (!run_ends && i + 1 < end) continue;
      if (began_before) {
        store(sum, runs.from_before(chunk) + col, count);
      } else if (run_ends) {
        runs.add_to_table(id, col, count, sum);
      } else {
        store(sum, runs.begun_in(chunk) + col, count);
      }
      began_before = false;
      for (float& s : sum) s = 0;
    }
  }
};

// Adds up the run that crosses into the next chunk, if it begins in this one.
struct AddRunAcrossChunks {
  Runs runs;
  __device__ void operator()(int64_t chunk, int64_t col, int64_t count) const {
    int64_t next = chunk + 1;
    const int64_t id = runs.id_at(next * kChunk);
    if (id < 0 || id == runs.num_ids) return;
    if (runs.id_at(next * kChunk - 1) != id || runs.id_at(chunk * kChunk - 1) == id) return;
    float sum[kGroup];
    load(runs.begun_in(chunk) + col, count, sum);
    for (; runs.id_at(next * kChunk) == id; ++next) add_group(runs.from_before(next) + col, count, sum);
    runs.add_to_table(id, col, count, sum);
  }
};

}  // namespace

void measure(Context& ctx, const ops::EmbeddingBackward& a) {
  runtime(ctx).reserve(Runtime::kEmbedding, layout_of(a).bytes());
}

void embedding_backward(Context& ctx, const ops::EmbeddingBackward& a) {
  measure(ctx, a);
  constexpr const char* kName = "embedding_backward";
  const Layout layout = layout_of(a);
  const int64_t num_ids = a.d_table.rows();
  auto* keys = runtime(ctx).scratch<SortKey>(Runtime::kEmbedding);
  auto* parts = reinterpret_cast<float*>(keys + 2 * layout.rows);
  const SortKey* sorted =
      sort_rows(ctx, kName, vector_of<int32_t>(a.ids), layout.rows, a.first_id, num_ids, keys, keys + layout.rows);
  const Runs runs{sorted, layout.rows, layout.cols, num_ids, parts, a.scale, rows_of<float>(a.d_table)};
  for_storage(a.d_y.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_groups(ctx, kName, layout.chunks(), layout.cols, SumChunk<T>{runs, rows_of<T>(a.d_y)});
  });
  launch_groups(ctx, kName, layout.chunks(), layout.cols, AddRunAcrossChunks{runs});
}

}  // namespace weft::cuda
