// tensor/cuda/sorted_rows.cuh: sorts rows by their ids, so that rows with one id are consecutive and keep
// their order.
//
// A key is an id and a row. No two keys are equal, so the order is unique and the same on every run. Ids
// outside [0, num_ids) of this rank become num_ids, which puts their rows last.
#pragma once

#include "tensor/cuda/launch.cuh"

namespace weft::cuda {

using SortKey = uint64_t;
__device__ inline int64_t id_of(SortKey key) { return static_cast<int64_t>(key >> 32); }
__device__ inline int64_t row_of(SortKey key) { return static_cast<int64_t>(key & 0xFFFFFFFFu); }

// Sorts the `rows` ids in two arrays of `rows` keys each, and returns the array with the result.
SortKey* sort_rows(Context& ctx, const char* name, const int32_t* ids, int64_t rows, int64_t first_id, int64_t num_ids,
                   SortKey* keys, SortKey* others);

}  // namespace weft::cuda
