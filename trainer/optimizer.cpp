// trainer/optimizer.cpp: gradient norm over the grid, and Adam.
#include "trainer/optimizer.h"

#include <algorithm>
#include <cmath>

namespace weft {

double GradNorm::clip_scale(double clip_norm) const {
  return clip_norm > 0 ? std::min(1.0, clip_norm / (value + 1e-6)) : 1.0;
}

Optimizer::Optimizer(const ParamStore& params, const OptimizerConfig& config, Device device)
    : params_(params),
      config_(config),
      m_(static_cast<size_t>(params.numel()) * sizeof(float), device),
      v_(static_cast<size_t>(params.numel()) * sizeof(float), device),
      squares_(2, device) {}

// Two sums of squares: of split parameters, which tp adds up, and of whole ones, equal on every tp rank and counted
// once.
GradNorm Optimizer::grad_norm(Context& ctx, const Mesh& mesh, double loss_scale) const {
  squares_.clear(ctx);
  for (const Param& p : params_.params())
    ops::sum_squares(ctx, {.x = p.grad, .y = squares_[p.spec.tp_dim >= 0 ? 0 : 1]});
  const std::vector<double> sums = squares_.read(ctx);
  const double square = mesh.tp().sum(sums[0]) + sums[1];
  // Every rank of a dp group holds the same sums already; a rank whose memory is damaged must not go its own way.
  const bool finite = mesh.world().max(std::isfinite(square) ? 0 : 1) == 0;
  return {.value = std::sqrt(square) / loss_scale, .finite = finite};
}

void Optimizer::step(Context& ctx, double lr, double grad_scale) {
  ++steps_;
  for (const Param& p : params_.params()) {
    ops::adam(ctx, {.param = p.value.with_shape({p.numel()}),
                    .grad = p.grad.with_shape({p.numel()}),
                    .m = first_moment().slice_rows(p.offset, p.numel()),
                    .v = second_moment().slice_rows(p.offset, p.numel()),
                    .copy = params_.mixed() ? p.compute.with_shape({p.numel()}) : Tensor{},
                    .lr = static_cast<float>(lr),
                    .beta1 = static_cast<float>(config_.beta1),
                    .beta2 = static_cast<float>(config_.beta2),
                    .eps = static_cast<float>(config_.eps),
                    .weight_decay = p.spec.decay ? static_cast<float>(config_.weight_decay) : 0.0f,
                    .grad_scale = static_cast<float>(grad_scale),
                    .step = steps_});
    params_.pack(ctx, p);
  }
}

}  // namespace weft
