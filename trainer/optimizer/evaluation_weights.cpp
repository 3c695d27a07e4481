// trainer/optimizer/evaluation_weights.cpp: replaces the weights that layers read, and restores them.
#include "trainer/optimizer/evaluation_weights.h"

#include "tensor/error.h"
#include "tensor/transfer.h"

namespace weft {

EvaluationWeights::EvaluationWeights(Context& ctx, Communicator& dp, const ParamStore& params,
                                     const Optimizer& optimizer)
    : ctx_(ctx), params_(params), optimizer_(optimizer) {
  const Tensor kept = params.grads(), values = params.vector_values();
  if (params.mixed()) {
    copy(ctx, values, vectors(kept));
  } else {
    copy(ctx, params.values(), kept);
  }
  const ParamBuffer whole{params.mixed() ? matrices(kept) : matrices(params.values()), values};
  optimizer.write_evaluation_weights(ctx, whole);
  if (optimizer.sharded()) optimizer.shard().gather_in_place(dp, whole.matrices);
  params.round_values(ctx, whole);
}

EvaluationWeights::~EvaluationWeights() {
  try {
    restore();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the device has failed, as the next step reports again
  }
}

void EvaluationWeights::restore() {
  if (!params_.mixed()) return copy(ctx_, params_.grads(), params_.values());
  const Tensor values = params_.vector_values();
  copy(ctx_, vectors(params_.grads()), values);
  if (!params_.divided()) return params_.round_values(ctx_);
  ops::cast(ctx_, {.x = values, .y = vectors(params_.rounded())});
  const Shard& shard = optimizer_.shard();
  for (const Chunk& bucket : shard.buckets()) {
    const Chunk own = shard.own(bucket);
    ops::cast(ctx_, {.x = optimizer_.master().slice_rows(shard.place(bucket), own.count),
                     .y = params_.rounded().slice_rows(own.begin, own.count)});
  }
}

}  // namespace weft
