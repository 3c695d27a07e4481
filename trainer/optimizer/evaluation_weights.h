// trainer/optimizer/evaluation_weights.h: replaces the training weights during an evaluation.
//
// Some optimizers evaluate the model at different weights than those at which they compute gradients, for example at an
// average (Optimizer::has_evaluation_weights). During an evaluation, these weights overwrite the training weights. The
// memory of the gradients, which is free between steps, stores what must be restored afterwards:
//   f32: all training weights
//   mixed precision: the vectors, because the rounded matrices can be computed again from the f32 values
#pragma once

#include "trainer/optimizer/optimizer.h"

namespace weft {

class EvaluationWeights {
 public:
  // All ranks of `dp` must construct this object together, between steps. It uses the gradients' memory until it is
  // destroyed. REQUIRES: the arguments outlive this object, and in f32 the weights are gathered (ParamGather).
  EvaluationWeights(Context& ctx, Communicator& dp, const ParamStore& params, const Optimizer& optimizer);
  // Restores the training weights exactly and without communication. With ParamStore::divided(), it restores only this
  // rank's shard of the matrices and all vectors, so the other shards must be gathered again.
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
