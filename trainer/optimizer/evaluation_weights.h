// trainer/optimizer/evaluation_weights.h: replaces the training weights during an evaluation.
//
// An optimizer has separate weights for evaluation, for example an average, if they differ from the weights at which it
// computes gradients (Optimizer::has_evaluation_weights). They need no memory of their own, because the memory of the
// gradients, which is free between steps, stores what they displace:
//   f32: the training weights
//   mixed precision: the vectors; the rounded matrices, which layers read, are computed again from the f32 values
#pragma once

#include "trainer/optimizer/optimizer.h"

namespace weft {

class EvaluationWeights {
 public:
  // All ranks of `dp` construct it together, between steps. It uses the gradients' memory until it is destroyed.
  // REQUIRES: the arguments outlive it, and in f32 the weights are gathered (ParamGather).
  EvaluationWeights(Context& ctx, Communicator& dp, const ParamStore& params, const Optimizer& optimizer);
  // Restores the training weights, bit by bit and without communication. With ParamStore::divided() these are this
  // rank's shard of the matrices and all vectors; the other shards must be gathered again.
  ~EvaluationWeights();
  EvaluationWeights(const EvaluationWeights&) = delete;
  EvaluationWeights& operator=(const EvaluationWeights&) = delete;

 private:
  void restore();
  Tensor matrices(const Tensor& flat) const { return flat.slice_rows(0, params_.matrix_numel()); }
  Tensor vectors(const Tensor& flat) const { return flat.slice_rows(params_.matrix_numel(), params_.vector_numel()); }

  Context& ctx_;
  const ParamStore& params_;
  const Optimizer& optimizer_;
};

}  // namespace weft
