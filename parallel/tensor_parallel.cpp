// parallel/tensor_parallel.cpp: runs the collectives of tensor-parallel layers, and splits a vocabulary.
#include "parallel/tensor_parallel.h"

#include <algorithm>

#include "parallel/planned_group.h"
#include "tensor/profiler_range.h"

namespace weft {

VocabularyRange VocabularyRange::of(int64_t size, int rank, int ranks) {
  const int64_t columns = (size + ranks - 1) / ranks, first = std::min(rank * columns, size);
  return {.first = first, .columns = columns, .valid = std::min(columns, size - first)};
}

void TensorParallel::all_reduce(Context& ctx, const Tensor& x) const {
  if (size() == 1) return;
  if (ctx.dry_run()) return note_collective(ctx.trace(), kTpAllReduce, x);
  const ProfilerRange range(ctx, kTpAllReduce);
  group_.all_reduce(x);
}

void TensorParallel::reduce_scatter(Context& ctx, const Tensor& x, const Tensor& mine) const {
  if (ctx.dry_run()) return note_collective(ctx.trace(), kTpReduceScatter, x);
  const ProfilerRange range(ctx, kTpReduceScatter);
  group_.reduce_scatter(x, mine);
}

void TensorParallel::gather_stats(Context& ctx, const Tensor& mine, const Tensor& all) const { gather(ctx, mine, all); }

void TensorParallel::gather(Context& ctx, const Tensor& mine, const Tensor& all) const {
  if (ctx.dry_run()) return note_collective(ctx.trace(), kTpAllGather, mine);
  const ProfilerRange range(ctx, kTpAllGather);
  group_.all_gather(mine, all);
}

}  // namespace weft
