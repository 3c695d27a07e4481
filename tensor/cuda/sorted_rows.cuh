// tensor/cuda/sorted_rows.cuh: rows sorted by their ids, so that rows of one id stand together, in their own order.
//
// A key is an id and a row; no two are equal, so one order exists and every run finds it. Ids outside [0, num_ids) of
// this rank become num_ids: their rows come last.
#pragma once

#include "tensor/cuda/launch.cuh"

namespace weft::cuda {

using SortKey = uint64_t;
__device__ inline int64_t id_of(SortKey key) { return static_cast<int64_t>(key >> 32); }
__device__ inline int64_t row_of(SortKey key) { return static_cast<int64_t>(key & 0xFFFFFFFFu); }

// Sorts the `rows` ids by two arrays of as many keys, and returns the one that holds the result.
SortKey* sort_rows(Context& ctx, const char* name, const int32_t* ids, int64_t rows, int64_t first_id, int64_t num_ids,
                   SortKey* keys, SortKey* others);

}  // namespace weft::cuda
