// trainer/optimizer.cpp: gradient norm over the grid, and Adam.
#include "trainer/optimizer.h"

#include <algorithm>
#include <cmath>

namespace weft {

namespace {

template <typename Range>
Tensor part(const Tensor& flat, const Range& range) {
  return flat.slice_rows(range.begin, range.end - range.begin);
}

}  // namespace

double GradNorm::clip_scale(double clip_norm) const {
  return clip_norm > 0 ? std::min(1.0, clip_norm / (value + 1e-6)) : 1.0;
}

Optimizer::Optimizer(const ParamStore& params, const OptimizerConfig& config, Device device)
    : params_(params),
      config_(config),
      by_decay_(ranges([&](const Param& p) { return p.spec.decay && config.weight_decay != 0; })),
      by_split_(ranges([&](const Param& p) { return params.tp_size() > 1 && p.spec.tp_dim >= 0; })),
      m_(static_cast<size_t>(params.numel()) * sizeof(float), device),
      v_(static_cast<size_t>(params.numel()) * sizeof(float), device),
      squares_(2, device) {}

// Two sums of squares: of split parameters, which tp adds up, and of whole ones, equal on every tp rank and counted
// once.
GradNorm Optimizer::grad_norm(Context& ctx, const Mesh& mesh, double loss_scale) const {
  squares_.clear(ctx);
  for (const Range& range : by_split_)
    ops::sum_squares(ctx, {.x = part(params_.grads(), range), .y = squares_[range.holds ? 0 : 1]});
  const std::vector<double> sums = squares_.read(ctx);
  const double square = mesh.tp().sum(sums[0]) + sums[1];
  // Every rank of a dp group holds the same sums already; a rank whose memory is damaged must not go its own way.
  const bool finite = mesh.world().max(std::isfinite(square) ? 0 : 1) == 0;
  return {.value = std::sqrt(square) / loss_scale, .finite = finite};
}

ops::Adam Optimizer::next_step(double lr, double grad_scale) {
  return {.lr = static_cast<float>(lr),
          .beta1 = static_cast<float>(config_.beta1),
          .beta2 = static_cast<float>(config_.beta2),
          .eps = static_cast<float>(config_.eps),
          .grad_scale = static_cast<float>(grad_scale),
          .step = ++steps_};
}

void Optimizer::update(Context& ctx, const ops::Adam& factors, const StepState* state) const {
  for (const Range& range : by_decay_) {
    ops::Adam a = factors;
    a.param = part(params_.values(), range);
    a.grad = part(params_.grads(), range);
    a.m = part(first_moment(), range);
    a.v = part(second_moment(), range);
    if (params_.mixed()) a.copy = part(params_.rounded(), range);
    a.weight_decay = range.holds ? static_cast<float>(config_.weight_decay) : 0.0f;
    a.state = state;
    ops::adam(ctx, a);
    for (size_t i = range.first_param; i < range.last_param; ++i) params_.pack(ctx, params_.params()[i]);
  }
}

template <typename Property>
std::vector<Optimizer::Range> Optimizer::ranges(const Property& property) const {
  const std::deque<Param>& params = params_.params();
  std::vector<Range> all;
  for (size_t i = 0; i < params.size(); ++i) {
    const bool holds = property(params[i]);
    if (all.empty() || all.back().holds != holds || params_.device() == Device::cpu)
      all.push_back({.begin = params[i].offset, .first_param = i, .holds = holds});
    all.back().end = params[i].offset + params[i].numel();
    all.back().last_param = i + 1;
  }
  return all;
}

}  // namespace weft
