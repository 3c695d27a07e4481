// model/layers/normalization.h: defines layers for the norms of tensor/op/norm_kind.h, also fused with the residual
// sum. Their parameters are replicated over tp.
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
  // Sets d_x to the gradient through the norm (+ d_residual if given); d_x may be d_y or d_residual. If `later` is
  // given, the caller must run ops::norm_sums for the parameters' gradients; `later` refers to arena memory.
  void backward(Pass& p, const Tensor& d_y, const Saved& saved, const Tensor& d_residual, const Tensor& d_x,
                ops::NormSums::Norm* later = nullptr) const;

  // These run the norm fused with `sum`, to which they add the norm's parameters, gradients, kind and scratch memory.
  void forward(Pass& p, ops::ResidualNormForward sum) const;
  void backward(Pass& p, ops::ResidualNormBackward sum, ops::NormSums::Norm& later) const;

 private:
  Tensor beta() const { return beta_ ? beta_->value : Tensor(); }
  Tensor d_beta() const { return beta_ ? beta_->grad : Tensor(); }
  const Param *gamma_, *beta_;
  NormKind kind_;
  float eps_;
};

}  // namespace weft
