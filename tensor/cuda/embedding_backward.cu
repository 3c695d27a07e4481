// tensor/cuda/embedding_backward.cu: computes the gradient of the embedding look-up. The rows of equal ids are summed
// in a fixed order without atomics, so the sums are deterministic.
//
// A run is the sorted rows of one id. Frequent tokens have long runs, so the sorted rows are cut into chunks that are
// summed in parallel. The sum of a run within one chunk is added to the table at once. If a run crosses chunks, each
// chunk stores a partial sum, and a second kernel adds these sums.
#include <algorithm>

#include "tensor/cuda/dropout.cuh"
#include "tensor/cuda/groups.cuh"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

constexpr int64_t kChunk = 16;  // rows that a thread reads in series; a long run has a partial sum in each chunk

int64_t chunks_of(const ops::EmbeddingBackward& a) { return (a.d_y.rows() + kChunk - 1) / kChunk; }

// The scratch memory [chunks, 2, D] holds two partial sums per chunk: of the run that started before the chunk, and of
// the run that crosses the chunk's end.
struct Runs {
  const int32_t *ids, *rows_of;
  int64_t rows, cols;
  int first_id;
  unsigned num_ids;
  float* parts;
  float scale;
  Rows<float> d_table;

  // Returns the table's row for sorted id i, or -1 if another rank holds the id or i is out of range.
  __device__ int id_at(int64_t i) const {
    const auto local = static_cast<unsigned>(i >= 0 && i < rows ? ids[i] - first_id : -1);  // large if negative
    return local < num_ids ? static_cast<int>(local) : -1;
  }
  __device__ float* from_before(int64_t chunk) const { return parts + 2 * chunk * cols; }
  __device__ float* begun_in(int64_t chunk) const { return parts + (2 * chunk + 1) * cols; }
  __device__ void add_to_table(int64_t id, int64_t col, int64_t count, const float (&sum)[kGroup]) const {
    float total[kGroup];
    load(d_table[id] + col, count, total);
    for (int i = 0; i < kGroup; ++i) total[i] += scale * sum[i];
    store(total, d_table[id] + col, count);
  }
};

template <typename T, bool kCuts>
struct SumChunk {
  Runs runs;
  Rows<T> d_y;
  Dropout cut;
  __device__ void operator()(int64_t chunk, int64_t col, int64_t count) const {
    const DropoutMask mask = cut.mask();
    const int64_t begin = chunk * kChunk, end = begin + kChunk < runs.rows ? begin + kChunk : runs.rows;
    bool began_before = runs.id_at(begin - 1) == runs.id_at(begin);
    float sum[kGroup] = {};
    for (int64_t i = begin; i < end; ++i) {
      const int id = runs.id_at(i);
      if (id >= 0 && !(kCuts && mask.drops_row(runs.rows_of[i]))) add_group(d_y[runs.rows_of[i]] + col, count, sum);
      const bool run_ends = runs.id_at(i + 1) != id;
      if (!run_ends && i + 1 < end) continue;
      if (id < 0) {  // another rank holds the id
      } else if (began_before) {
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

// Sums the run that crosses into the next chunk, if the run starts in this chunk.
struct AddRunAcrossChunks {
  Runs runs;
  __device__ void operator()(int64_t chunk, int64_t col, int64_t count) const {
    int64_t next = chunk + 1;
    const int id = runs.id_at(next * kChunk);
    if (id < 0) return;
    if (runs.id_at(next * kChunk - 1) != id || runs.id_at(chunk * kChunk - 1) == id) return;
    float sum[kGroup];
    load(runs.begun_in(chunk) + col, count, sum);
    for (; runs.id_at(next * kChunk) == id; ++next) add_group(runs.from_before(next) + col, count, sum);
    runs.add_to_table(id, col, count, sum);
  }
};

}  // namespace

void measure(Context& ctx, const ops::EmbeddingBackward& a) {
  runtime(ctx).reserve(Runtime::kEmbedding, static_cast<size_t>(2 * chunks_of(a) * a.d_y.cols()) * sizeof(float));
}

void embedding_backward(Context& ctx, const ops::EmbeddingBackward& a) {
  measure(ctx, a);
  constexpr const char* kName = "embedding_backward";
  const int64_t chunks = chunks_of(a), cols = a.d_y.cols();
  const Runs runs{.ids = vector_of<int32_t>(a.sorted.ids),
                  .rows_of = vector_of<int32_t>(a.sorted.rows),
                  .rows = a.d_y.rows(),
                  .cols = cols,
                  .first_id = static_cast<int>(a.first_id),
                  .num_ids = static_cast<unsigned>(a.d_table.rows()),
                  .parts = runtime(ctx).scratch<float>(Runtime::kEmbedding),
                  .scale = a.scale,
                  .d_table = rows_of<float>(a.d_table)};
  for_dropout(a.cut, [&](auto cuts) {
    for_storage(a.d_y.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch_groups(ctx, kName, chunks, cols, SumChunk<T, decltype(cuts)::value>{runs, rows_of<T>(a.d_y), a.cut});
    });
  });
  launch_groups(ctx, kName, chunks, cols, AddRunAcrossChunks{runs});
}

}  // namespace weft::cuda
