// model/layers/normalization.cpp: layer norm.
#include "model/layers/normalization.h"

namespace weft {

LayerNorm::LayerNorm(ParamStore& params, const std::string& name, int64_t width)
    : gamma_(params.declare({.name = name + ".weight", .shape = {width}, .init = InitSpec::constant(1)})),
      beta_(params.declare({.name = name + ".bias", .shape = {width}})) {}

void LayerNorm::forward(Pass& p, const Tensor& x, const Tensor& y, Saved* saved) const {
  const Saved s{.x = x, .mean = p.arena.tensor({x.rows()}), .rstd = p.arena.tensor({x.rows()})};
  ops::layer_norm_forward(
      p.ctx, {.x = x, .gamma = gamma_->value, .beta = beta_->value, .y = y, .mean = s.mean, .rstd = s.rstd});
  if (saved) *saved = s;
}

void LayerNorm::backward(Pass& p, const Tensor& d_y, const Saved& saved, const Tensor& d_residual,
                         const Tensor& d_x) const {
  ArenaScope scope(p.arena);
  ops::layer_norm_backward(p.ctx, {.d_y = d_y,
                                   .x = saved.x,
                                   .gamma = gamma_->value,
                                   .mean = saved.mean,
                                   .rstd = saved.rstd,
                                   .d_residual = d_residual,
                                   .d_x = d_x,
                                   .d_gamma = gamma_->grad,
                                   .d_beta = beta_->grad,
                                   .partial = p.arena.tensor({ops::kLayerNormPartials, 2, d_y.cols()})});
}

void LayerNorm::forward(Pass& p, ops::ResidualNormForward sum) const {
  sum.gamma = gamma_->value, sum.beta = beta_->value;
  ops::residual_norm_forward(p.ctx, sum);
}

void LayerNorm::backward(Pass& p, ops::ResidualNormBackward sum) const {
  ArenaScope scope(p.arena);
  sum.gamma = gamma_->value, sum.d_gamma = gamma_->grad, sum.d_beta = beta_->grad;
  sum.partial = p.arena.tensor({ops::kLayerNormPartials, 3, sum.h.cols()});
  ops::residual_norm_backward(p.ctx, sum);
}

}  // namespace weft
