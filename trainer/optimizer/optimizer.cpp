// trainer/optimizer/optimizer.cpp: sums of squares, and Adam.
#include "trainer/optimizer/optimizer.h"

#include <algorithm>

#include "tensor/op/op_formulas.h"
#include "tensor/transfer.h"
#include "trainer/optimizer/weight_average.h"

namespace weft {

double clip_scale(double norm, double clip_norm) {
  return clip_norm > 0 ? std::min(1.0, clip_norm / (norm + 1e-6)) : 1.0;
}

Optimizer::Optimizer(const ParamStore& params, const OptimizerConfig& config, const Shard& shard, double ema)
    : params_(params),
      config_(config),
      ema_(ema),
      shard_(shard),
      by_decay_(own_pieces(params.ranges([&](const Param& p) { return p.spec.decay && config.weight_decay != 0; }))),
      by_split_(own_pieces(params.ranges([&](const Param& p) { return params.tp_size() > 1 && p.spec.tp_dim >= 0; }))) {
  const auto allocate = [&](int64_t n) { return Buffer(static_cast<size_t>(n) * sizeof(float), params.device()); };
  m_ = allocate(shard_.numel() + params.vector_numel());
  v_ = allocate(shard_.numel() + params.vector_numel());
  if (has_average()) average_ = allocate(shard_.numel() + params.vector_numel());
  if (params.divided()) master_ = allocate(shard_.numel());
}

// On the devices where it counts, ranges are long: a shard has few pieces more than buckets.
std::vector<Optimizer::Piece> Optimizer::own_pieces(const std::vector<ParamRange>& ranges) const {
  const int64_t num_matrices = params_.matrix_numel();
  std::vector<Piece> pieces;
  const auto add = [&](const ParamRange& range, const Chunk& own, int64_t place) {
    ParamRange part = range;
    part.begin = std::max(range.begin, own.begin), part.end = std::min(range.end, own.begin + own.count);
    if (part.begin < part.end) pieces.push_back({part, place + part.begin - own.begin});
  };
  for (const ParamRange& range : ranges) {
    if (!sharded()) {
      pieces.push_back({range, range.begin});
      continue;
    }
    for (const Chunk& bucket : shard_.buckets()) add(range, shard_.own(bucket), shard_.place(bucket));
    add(range, {num_matrices, params_.vector_numel()}, shard_.numel());
  }
  return pieces;
}

ParamBuffer Optimizer::buffer_of(const Buffer& buffer) const {
  const Tensor all = buffer.tensor({shard_.numel() + params_.vector_numel()});
  return {all.slice_rows(0, shard_.numel()), all.slice_rows(shard_.numel(), params_.vector_numel())};
}

void Optimizer::add_squares(Context& ctx, const Tensor& split, const Tensor& whole) const {
  for (const auto& [range, place] : by_split_) {
    if (range.begin >= params_.matrix_numel() && !shard_.is_first()) continue;  // all ranks have the vectors
    const Tensor grads = params_.grads().slice_rows(range.begin, range.end - range.begin);
    ops::sum_squares(ctx, {.x = grads, .y = range.has_property ? split : whole});
  }
}

void Optimizer::next_step(StepScalars& scalars, double lr, double grad_scale) {
  scalars.lr = static_cast<float>(lr);
  scalars.grad_scale = static_cast<float>(grad_scale);
  set_adam_corrections(scalars, static_cast<float>(config_.beta1), static_cast<float>(config_.beta2), ++steps_);
  if (has_average()) scalars.average_rate = static_cast<float>(average_rate(ema_, steps_));
}

void Optimizer::update(Context& ctx, const StepScalars* scalars) const {
  const ParamBuffer values = params_.value_buffer(), m = first_moment(), v = second_moment();
  const auto average_of = [&](int64_t place, int64_t count) {
    return has_average() ? average().part(place, count) : Tensor();
  };
  for (const auto& [range, place] : by_decay_) {
    const int64_t first = range.begin, count = range.end - first;
    const bool in_master = params_.divided() && first < params_.matrix_numel();
    ops::adam(ctx, {.param = in_master ? master().slice_rows(place, count) : values.part(first, count),
                    .grad = params_.grads().slice_rows(first, count),
                    .m = m.part(place, count),
                    .v = v.part(place, count),
                    .copy = params_.mixed() ? params_.rounded().slice_rows(first, count) : Tensor(),
                    .average = average_of(place, count),
                    .beta1 = static_cast<float>(config_.beta1),
                    .beta2 = static_cast<float>(config_.beta2),
                    .eps = static_cast<float>(config_.eps),
                    .weight_decay = range.has_property ? static_cast<float>(config_.weight_decay) : 0.0f,
                    .scalars = scalars});
    if (!sharded()) params_.refresh(ctx, range);
  }
}

void Optimizer::begin_average(Context& ctx) const {
  if (!has_average()) return;
  const ParamBuffer mean = average();
  if (params_.divided()) {
    copy(ctx, master(), mean.matrices);
  } else {
    shard_.take(ctx, params_.values().slice_rows(0, params_.matrix_numel()), mean.matrices);
  }
  copy(ctx, params_.vector_values(), mean.vectors);
}

void Optimizer::write_evaluation_weights(Context& ctx, const ParamBuffer& whole) const {
  shard_.put(ctx, average().matrices, whole.matrices);
  copy(ctx, average().vectors, whole.vectors);
}

}  // namespace weft
