// trainer/optimizer/optimizer.cpp: sums of squares, and Adam.
#include "trainer/optimizer/optimizer.h"

#include <algorithm>

#include "tensor/op/op_formulas.h"

namespace weft {

namespace {

Tensor part(const Tensor& flat, const ParamRange& range) {
  return flat.slice_rows(range.begin, range.end - range.begin);
}

}  // namespace

double clip_scale(double norm, double clip_norm) {
  return clip_norm > 0 ? std::min(1.0, clip_norm / (norm + 1e-6)) : 1.0;
}

Optimizer::Optimizer(const ParamStore& params, const OptimizerConfig& config)
    : params_(params),
      config_(config),
      by_decay_(params.ranges([&](const Param& p) { return p.spec.decay && config.weight_decay != 0; })),
      by_split_(params.ranges([&](const Param& p) { return params.tp_size() > 1 && p.spec.tp_dim >= 0; })),
      m_(static_cast<size_t>(params.numel()) * sizeof(float), params.device()),
      v_(static_cast<size_t>(params.numel()) * sizeof(float), params.device()) {}

void Optimizer::add_squares(Context& ctx, const Tensor& split, const Tensor& whole) const {
  for (const ParamRange& range : by_split_)
    ops::sum_squares(ctx, {.x = part(params_.grads(), range), .y = range.has_property ? split : whole});
}

void Optimizer::next_step(StepScalars& scalars, double lr, double grad_scale) {
  scalars.lr = static_cast<float>(lr);
  scalars.grad_scale = static_cast<float>(grad_scale);
  set_adam_corrections(scalars, static_cast<float>(config_.beta1), static_cast<float>(config_.beta2), ++steps_);
}

void Optimizer::update(Context& ctx, const StepScalars* scalars) const {
  for (const ParamRange& range : by_decay_) {
    ops::adam(ctx, {.param = part(params_.values(), range),
                    .grad = part(params_.grads(), range),
                    .m = part(first_moment(), range),
                    .v = part(second_moment(), range),
                    .copy = params_.mixed() ? part(params_.rounded(), range) : Tensor(),
                    .beta1 = static_cast<float>(config_.beta1),
                    .beta2 = static_cast<float>(config_.beta2),
                    .eps = static_cast<float>(config_.eps),
                    .weight_decay = range.has_property ? static_cast<float>(config_.weight_decay) : 0.0f,
                    .scalars = scalars});
    params_.refresh(ctx, range);
  }
}

}  // namespace weft
