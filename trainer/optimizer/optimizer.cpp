// trainer/optimizer/optimizer.cpp: computes sums of squared gradients, and updates weights.
#include "trainer/optimizer/optimizer.h"

#include <algorithm>

#include "tensor/error.h"
#include "tensor/op/update_rules.h"
#include "tensor/transfer.h"
#include "trainer/optimizer/weight_average.h"

namespace weft {
namespace {

// Returns the parts of `ranges` that lie inside `hole`, or the parts that lie outside.
std::vector<ParamRange> cut(const std::vector<ParamRange>& ranges, const ParamBuffer::Hole& hole, bool inside) {
  std::vector<ParamRange> parts;
  const auto add = [&](ParamRange range, int64_t begin, int64_t end) {
    range.begin = std::max(range.begin, begin), range.end = std::min(range.end, end);
    if (range.begin < range.end) parts.push_back(range);
  };
  for (const ParamRange& range : ranges) {
    if (inside) {
      add(range, hole.begin, hole.begin + hole.count);
    } else {
      add(range, 0, hole.begin);
      add(range, hole.begin + hole.count, range.end);
    }
  }
  return parts;
}

}  // namespace

double clip_scale(double norm, double clip_norm) {
  return clip_norm > 0 ? std::min(1.0, clip_norm / (norm + 1e-6)) : 1.0;
}

Optimizer::Optimizer(const ParamStore& params, const OptimizerConfig& config, const Shard& shard, double ema,
                     OptimizerGroups groups)
    : params_(params),
      config_(config),
      traits_(traits_of(config.kind)),
      ema_(ema),
      shard_(shard),
      by_split_(own_pieces(params.ranges([&](const Param& p) { return params.tp_size() > 1 && p.spec.tp_dim >= 0; }))) {
  if (config.kind == OptimizerKind::muon) {
    require(!sharded(), ErrorKind::internal, "Muon does not support sharded matrices");
    muon_.emplace(params, config.muon_adjust, groups.tp, groups.dp);
  }
  const ParamBuffer::Hole of_muon = muon_ ? muon_->elements() : ParamBuffer::Hole{};
  const auto by_decay = params.ranges([&](const Param& p) { return p.spec.decay && config.weight_decay != 0; });
  by_decay_ = own_pieces(cut(by_decay, of_muon, /*inside=*/false));
  of_muon_ = own_pieces(cut(by_decay, of_muon, /*inside=*/true));
  if (traits_.first != nullptr) keep(traits_.first, "the first moment of ");
  if (traits_.second != nullptr) keep(traits_.second, "the second moment of ", of_muon);
  if (has_average()) keep("", "the average of ");
  if (params.divided()) master_ = params.buffer_of(static_cast<size_t>(shard_.numel()) * sizeof(float));
}

void Optimizer::keep(const char* prefix, const char* what, const ParamBuffer::Hole& absent) {
  const int64_t numel = shard_.numel() - absent.count + params_.vector_numel();
  kept_.push_back({.prefix = prefix,
                   .what = what,
                   .absent = absent,
                   .memory = params_.buffer_of(static_cast<size_t>(numel) * sizeof(float))});
}

// On a GPU, where each piece costs a kernel launch, ranges are long, so a shard has few more pieces than buckets.
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

ParamBuffer Optimizer::values_of(const Kept& kept) const {
  const int64_t matrices = shard_.numel() - kept.absent.count;
  const Tensor all = kept.memory.tensor({matrices + params_.vector_numel()});
  ParamBuffer parts(all.slice_rows(0, matrices), all.slice_rows(matrices, params_.vector_numel()));
  parts.absent = kept.absent;
  if (kept.prefix.empty()) parts.frozen = params_.frozen_values();  // their average is what they are
  return parts;
}

std::vector<OptimizerState> Optimizer::states() const {
  std::vector<OptimizerState> states;
  for (const Kept& kept : kept_) states.push_back({kept.prefix, kept.what, values_of(kept)});
  return states;
}

OptimizerBytes Optimizer::bytes() const {
  OptimizerBytes bytes{.master = master_.footprint(), .workspace = muon_ ? muon_->workspace_bytes() : 0};
  for (const Kept& kept : kept_) (kept.prefix.empty() ? bytes.average : bytes.moments) += kept.memory.footprint();
  return bytes;
}

// Returns the weights of `piece` that an update writes.
Tensor Optimizer::weights_of(const Piece& piece) const {
  const bool in_master = params_.divided() && piece.range.begin < params_.matrix_numel();
  return in_master ? master().slice_rows(piece.place, piece.count())
                   : params_.value_buffer().part(piece.range.begin, piece.count());
}

Tensor Optimizer::copy_of(const Piece& piece) const {
  return params_.mixed() ? params_.rounded().slice_rows(piece.range.begin, piece.count()) : Tensor();
}

void Optimizer::add_squares(Context& ctx, const Tensor& split, const Tensor& whole) const {
  for (const Piece& piece : by_split_) {
    if (piece.range.begin >= params_.matrix_numel() && !shard_.is_first()) continue;  // counts vectors once
    ops::sum_squares(ctx, {.x = grads_of(piece), .y = piece.range.has_property ? split : whole});
  }
}

void Optimizer::next_step(StepScalars& scalars, double lr, double grad_scale) {
  scalars.lr = static_cast<float>(lr);
  scalars.grad_scale = static_cast<float>(grad_scale);
  set_adam_corrections(scalars, static_cast<float>(config_.beta1), static_cast<float>(config_.beta2), ++steps_);
  if (has_average()) scalars.average_rate = static_cast<float>(average_rate(ema_, steps_));
  scalars.mean_weight = static_cast<float>(rate_sums_.add(lr));
}

void Optimizer::update(Context& ctx, const StepScalars* scalars) const {
  for (const Piece& piece : by_decay_) update_piece(ctx, traits_.rule, piece, scalars);
  if (muon_) update_by_muon(ctx, scalars);
}

void Optimizer::update_piece(Context& ctx, ops::UpdateRule rule, const Piece& piece, const StepScalars* scalars) const {
  const int moments = num_moments(rule);
  const auto kept = [&](const Kept& of) { return values_of(of).part(piece.place, piece.count()); };
  ops::update(ctx, {.param = weights_of(piece),
                    .grad = grads_of(piece),
                    .first = moments > 0 ? kept(kept_[0]) : Tensor(),
                    .second = moments > 1 ? kept(kept_[1]) : Tensor(),
                    .copy = copy_of(piece),
                    .average = has_average() ? kept(kept_.back()) : Tensor(),
                    .rule = rule,
                    .beta1 = static_cast<float>(config_.beta1),
                    .beta2 = static_cast<float>(config_.beta2),
                    .eps = static_cast<float>(config_.eps),
                    .weight_decay = piece.range.has_property ? static_cast<float>(config_.weight_decay) : 0.0f,
                    .scalars = scalars});
  if (!sharded()) params_.refresh(ctx, piece.range);
}

// For schedule-free steps, solves y = (1 - beta1) z + beta1 x for x.
void Optimizer::write_evaluation_weights(Context& ctx, const ParamBuffer& whole) const {
  if (has_average()) {
    shard_.put(ctx, average().matrices, whole.matrices);
    return copy(ctx, average().vectors, whole.vectors);
  }
  const double share = 1 / config_.beta1;
  const auto write = [&](const Tensor& y, const Tensor& z, const Tensor& x) {
    ops::scale_add(ctx, {.x = y, .y = x, .alpha = static_cast<float>(share)});
    ops::scale_add(ctx, {.x = z, .y = x, .alpha = static_cast<float>(1 - share), .beta = 1});
  };
  const ParamBuffer z = first_moment();
  for (const Chunk& bucket : shard_.buckets()) {
    const auto& [first, count] = shard_.own(bucket);
    const int64_t place = shard_.place(bucket);
    write(params_.divided() ? master().slice_rows(place, count) : params_.values().slice_rows(first, count),
          z.matrices.slice_rows(place, count), whole.matrices.slice_rows(first, count));
  }
  write(params_.vector_values(), z.vectors, whole.vectors);
}

void Optimizer::begin(Context& ctx) const {
  if (params_.divided()) shard_.take(ctx, params_.value_buffer().matrices, master());
  if (trains_elsewhere()) copy_values(ctx, first_moment());
}

void Optimizer::begin_average(Context& ctx) const {
  if (has_average()) copy_values(ctx, average());
}

void Optimizer::copy_values(Context& ctx, const ParamBuffer& to) const {
  if (params_.divided()) {
    copy(ctx, master(), to.matrices);
  } else {
    shard_.take(ctx, params_.values().slice_rows(0, params_.matrix_numel()), to.matrices);
  }
  copy(ctx, params_.vector_values(), to.vectors);
}

// Turns the gradients into momentum updates, orthogonalizes these updates, and applies them.
void Optimizer::update_by_muon(Context& ctx, const StepScalars* scalars) const {
  for (const Piece& piece : of_muon_)
    ops::muon_momentum(ctx, {.grad = grads_of(piece),
                             .m = first_moment().part(piece.place, piece.count()),
                             .momentum = static_cast<float>(config_.muon_momentum),
                             .scalars = scalars});
  muon_->orthogonalise(ctx);
  for (const Piece& piece : of_muon_) update_piece(ctx, ops::UpdateRule::descent, piece, scalars);
}

}  // namespace weft
