// model/layers/normalization.cpp: implements the norm layers.
#include "model/layers/normalization.h"

namespace weft {

Norm::Norm(ParamStore& params, const std::string& name, const ModelConfig& c)
    : gamma_(params.declare(
          {.name = name + ".weight", .shape = {c.width}, .init = InitSpec::constant(1), .sums_rows = true})),
      beta_(formula_of(c.norm_kind).has_beta
                ? params.declare({.name = name + ".bias", .shape = {c.width}, .sums_rows = true})
                : nullptr),
      kind_(c.norm_kind),
      eps_(static_cast<float>(c.epsilon())) {}

Norm::Saved Norm::allocate(Pass& p, const Tensor& x) const {
  return {.x = x,
          .mean = formula_of(kind_).centred ? p.arena.tensor({x.rows()}) : Tensor(),
          .rstd = p.arena.tensor({x.rows()})};
}

void Norm::forward(Pass& p, const Tensor& x, const Tensor& y, Saved* saved) const {
  const Saved s = allocate(p, x);
  ops::norm_forward(p.ctx, {.x = x,
                            .gamma = gamma_->value,
                            .beta = beta(),
                            .y = y,
                            .mean = s.mean,
                            .rstd = s.rstd,
                            .kind = kind_,
                            .eps = eps_});
  if (saved) *saved = s;
}

void Norm::backward(Pass& p, const Tensor& d_y, const Saved& saved, const Tensor& d_residual, const Tensor& d_x,
                    ops::NormSums::Norm* later) const {
  const size_t mark = p.arena.mark();
  const ops::NormBackward a{.d_y = d_y,
                            .x = saved.x,
                            .gamma = gamma_->value,
                            .mean = saved.mean,
                            .rstd = saved.rstd,
                            .d_residual = d_residual,
                            .d_x = d_x,
                            .d_gamma = gamma_->grad,
                            .d_beta = d_beta(),
                            .partial = p.arena.tensor({ops::kNormPartials, 2, d_y.cols()}),
                            .kind = kind_,
                            .sums_later = later != nullptr};
  ops::norm_backward(p.ctx, a);
  if (later == nullptr) return p.arena.reset(mark);
  *later = {.partial = a.partial, .d_gamma = a.d_gamma, .d_beta = a.d_beta, .d_bias = {}};
}

void Norm::forward(Pass& p, ops::ResidualNormForward sum) const {
  sum.gamma = gamma_->value, sum.beta = beta(), sum.kind = kind_, sum.eps = eps_;
  ops::residual_norm_forward(p.ctx, sum);
}

void Norm::backward(Pass& p, ops::ResidualNormBackward sum, ops::NormSums::Norm& later) const {
  sum.gamma = gamma_->value, sum.d_gamma = gamma_->grad, sum.d_beta = d_beta(), sum.kind = kind_;
  sum.partial = p.arena.tensor({ops::kNormPartials, 3, sum.h.cols()});
  sum.sums_later = true;
  ops::residual_norm_backward(p.ctx, sum);
  later = {.partial = sum.partial, .d_gamma = sum.d_gamma, .d_beta = sum.d_beta, .d_bias = sum.d_bias};
}

}  // namespace weft
