// tensor/cuda/sorted_rows.cu: a merge sort. Tiles are sorted in shared memory, then runs are merged in pairs;
// each key finds its place in the merged run by a search in the other run.
#include "tensor/cuda/sorted_rows.cuh"

#include <utility>

namespace weft::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int64_t kTile = 1024;  // keys; a power of 2

__device__ SortKey key_of(int64_t id, int64_t first_id, int64_t num_ids, int64_t row) {
  const int64_t local = id - first_id;
  const bool here = id >= 0 && local >= 0 && local < num_ids;
  return static_cast<SortKey>(here ? local : num_ids) << 32 | static_cast<SortKey>(row);
}

// Position of keys[i] after sorted runs of `run` keys, a power of 2, are merged in pairs: after the keys
// before it in its own run and the smaller keys of the other run.
__device__ int64_t merged_place(const SortKey* keys, int64_t count, int64_t run, int64_t i) {
  const int64_t own = i & ~(run - 1), pair = i & ~(2 * run - 1);
  const int64_t other = own == pair ? own + run : pair;
  int64_t low = other < count ? other : count, high = other + run < count ? other + run : count;
  const int64_t first = low;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (keys[middle] < keys[i]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return pair + (i - own) + (low - first);
}

__global__ void __launch_bounds__(kThreads)
    sort_tiles(const int32_t* ids, int64_t rows, int64_t first_id, int64_t num_ids, SortKey* keys) {
  __shared__ SortKey tiles[2 * kTile];
  SortKey *from = tiles, *to = tiles + kTile;
  const int64_t first = blockIdx.x * kTile, count = rows - first < kTile ? rows - first : kTile;
  for (int64_t i = threadIdx.x; i < count; i += kThreads)
    from[i] = key_of(ids[first + i], first_id, num_ids, first + i);
  for (int64_t run = 1; run < count; run *= 2) {
    __syncthreads();
    for (int64_t i = threadIdx.x; i < count; i += kThreads) to[merged_place(from, count, run, i)] = from[i];
    SortKey* const merged = to;
    to = from;
    from = merged;
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < count; i += kThreads) keys[first + i] = from[i];
}

__global__ void __launch_bounds__(kThreads) merge_runs(const SortKey* from, SortKey* to, int64_t count, int64_t run) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) to[merged_place(from, count, run, i)] = from[i];
}

}  // namespace

SortKey* sort_rows(Context& ctx, const char* name, const int32_t* ids, int64_t rows, int64_t first_id, int64_t num_ids,
                   SortKey* keys, SortKey* others) {
  launch(ctx, name, sort_tiles, blocks_for(rows, kTile), kThreads, 0, ids, rows, first_id, num_ids, keys);
  for (int64_t run = kTile; run < rows; run *= 2) {
    launch(ctx, name, merge_runs, blocks_for(rows, kThreads), kThreads, 0, keys, others, rows, run);
    std::swap(keys, others);
  }
  return keys;
}

}  // namespace weft::cuda
