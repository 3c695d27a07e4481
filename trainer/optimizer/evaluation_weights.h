// trainer/optimizer/evaluation_weights.h: for the time of an evaluation, the weights that a model is judged by in the
// place of those that it trains with.
//
// An optimizer has weights for evaluation if those are others than it computes gradients at
// (Optimizer::has_evaluation_weights): an average of them. They need no memory of their own here: the memory of the
// gradients, which is free between steps, keeps what they displace.
//   f32: it keeps the training weights
//   mixed precision: layers read rounded copies of the matrices, which are made again from the f32 values. It keeps the
//     vectors, which layers read in f32
#pragma once

#include "trainer/optimizer/optimizer.h"

namespace weft {

class EvaluationWeights {
 public:
  // All ranks of `dp` construct it together, between steps; the arguments outlive it. In f32 the weights are whole
  // (ParamGather). Until it is destroyed the gradients' memory is its own.
  EvaluationWeights(Context& ctx, Communicator& dp, const ParamStore& params, const Optimizer& optimizer);
  // Puts back the training weights, bit by bit and without communication. Where ParamStore::divided() these are this
  // rank's shard of the matrices, and all vectors: the other shards are gathered again.
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
