// model/layers/normalization.h: the norms of tensor/op/norm_kind.h, separate or fused with the residual sum. All ranks
// of tp have the same parameters.
#pragma once

#include <string>

#include "model/config.h"
#include "model/parameters/param_store.h"
#include "model/pass.h"

namespace weft {

class Norm {
 public:
  struct Saved {
    Tensor x, mean, rstd;  // mean only if the norm is centered
  };
  // Declares name.weight and, if the norm uses beta, name.bias.
  Norm(ParamStore& params, const std::string& name, const ModelConfig& config);

  Saved allocate(Pass& p, const Tensor& x) const;  // takes memory for the statistics of x from the arena
  void forward(Pass& p, const Tensor& x, const Tensor& y, Saved* saved) const;
  // d_x = gradient through the norm (+ d_residual if given); d_x may be d_y or d_residual. With `later`, the parameter
  // gradients are left to ops::norm_sums, and `later` refers to arena memory until then.
  void backward(Pass& p, const Tensor& d_y, const Saved& saved, const Tensor& d_residual, const Tensor& d_x,
                ops::NormSums::Norm* later = nullptr) const;

  // These complete `sum` with the norm's parameters, their gradients, the kind and the scratch memory.
  void forward(Pass& p, ops::ResidualNormForward sum) const;
  void backward(Pass& p, ops::ResidualNormBackward sum, ops::NormSums::Norm& later) const;

 private:
  Tensor beta() const { return beta_ ? beta_->value : Tensor(); }
  Tensor d_beta() const { return beta_ ? beta_->grad : Tensor(); }
  const Param *gamma_, *beta_;
  NormKind kind_;
};

}  // namespace weft
