// model/layers/normalization.h: layer norm (Ba, Kiros, Hinton 2016), alone or in one pass with the residual sum before
// it. Norms are whole on every rank.
#pragma once

#include <string>

#include "model/parameters/param_store.h"
#include "model/pass.h"

namespace weft {

class LayerNorm {
 public:
  struct Saved {
    Tensor x, mean, rstd;
  };
  LayerNorm(ParamStore& params, const std::string& name, int64_t width);

  void forward(Pass& p, const Tensor& x, const Tensor& y, Saved* saved) const;
  // d_x = gradient through the norm (+ d_residual if given); d_x may be d_y or d_residual.
  void backward(Pass& p, const Tensor& d_y, const Saved& saved, const Tensor& d_residual, const Tensor& d_x) const;

  // The caller leaves this norm's parameters, their gradients and the scratch to it.
  void forward(Pass& p, ops::ResidualNormForward sum) const;
  void backward(Pass& p, ops::ResidualNormBackward sum) const;

 private:
  const Param *gamma_, *beta_;
};

}  // namespace weft
