// parallel/collective.h: provides helpers for all communicators: checks, chunks of a tensor, sums in rank order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/tensor.h"

namespace weft {

struct Chunk {
  int64_t begin = 0, count = 0;
};

// Returns chunk `index` of `num_chunks`. The first numel % num_chunks chunks are one element longer than the rest.
Chunk chunk_of(int64_t numel, int index, int num_chunks);

// Calls f(begin, count) for consecutive parts of at most `limit` elements, and never for 0 elements.
template <typename F>
void for_each_piece(int64_t numel, int64_t limit, F&& f) {
  for (int64_t begin = 0; begin < numel; begin += limit) f(begin, std::min(limit, numel - begin));
}

// Sets out[i] to the sum parts[0][i] + parts[1][i] + ..., added in this order, or to the max, which is NaN if any part
// is NaN. `out` may be one of the parts.
void reduce_in_rank_order(ReduceOp op, DType dtype, std::span<const void* const> parts, int64_t count, void* out);

inline size_t bytes_of(const std::vector<Tensor>& parts) {  // sum over the parts
  size_t bytes = 0;
  for (const Tensor& part : parts) bytes += part.bytes();
  return bytes;
}

void check_collective(const Tensor& x);                                     // REQUIRES: contiguous host memory
void check_gather(const Tensor& part, const Tensor& whole, int num_parts);  // REQUIRES: whole = [num_parts, ...part]
void check_all_to_all(const Tensor& x, const Tensor& y, int num_parts);     // REQUIRES: both are [num_parts, ...]

}  // namespace weft
