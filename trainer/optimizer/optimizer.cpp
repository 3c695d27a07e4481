// trainer/optimizer/optimizer.cpp: sums of squares, and the steps of each kind.
#include "trainer/optimizer/optimizer.h"

#include <algorithm>

#include "tensor/error.h"
#include "tensor/op/op_formulas.h"
#include "tensor/transfer.h"
#include "trainer/optimizer/weight_average.h"

namespace weft {

namespace {

// The parts of ranges within [begin, end), or those outside of it.
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
      ema_(ema),
      shard_(shard),
      by_split_(own_pieces(params.ranges([&](const Param& p) { return params.tp_size() > 1 && p.spec.tp_dim >= 0; }))) {
  if (config.kind == OptimizerKind::muon) {
    require(!sharded(), ErrorKind::internal, "Muon needs whole matrices");
    muon_.emplace(params, config.muon_adjust, groups.tp, groups.dp);
  }
  const ParamBuffer::Hole of_muon = muon_ ? muon_->elements() : ParamBuffer::Hole{};
  const auto by_decay = params.ranges([&](const Param& p) { return p.spec.decay && config.weight_decay != 0; });
  by_decay_ = own_pieces(cut(by_decay, of_muon, /*inside=*/false));
  of_muon_ = own_pieces(cut(by_decay, of_muon, /*inside=*/true));
  const auto allocate = [&](int64_t n) { return Buffer(static_cast<size_t>(n) * sizeof(float), params.device()); };
  m_ = allocate(shard_.numel() + params.vector_numel());
  v_ = allocate(shard_.numel() - of_muon.count + params.vector_numel());
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

ParamBuffer Optimizer::buffer_of(const Buffer& buffer, const ParamBuffer::Hole& absent) const {
  const int64_t matrices = shard_.numel() - absent.count;
  const Tensor all = buffer.tensor({matrices + params_.vector_numel()});
  ParamBuffer parts(all.slice_rows(0, matrices), all.slice_rows(matrices, params_.vector_numel()));
  parts.absent = absent;
  return parts;
}

// What an update writes.
Tensor Optimizer::values_of(const Piece& piece) const {
  const int64_t first = piece.range.begin, count = piece.range.end - first;
  const bool in_master = params_.divided() && first < params_.matrix_numel();
  return in_master ? master().slice_rows(piece.place, count) : params_.value_buffer().part(first, count);
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
  scalars.mean_weight = static_cast<float>(rate_sums_.add(lr));
}

void Optimizer::update(Context& ctx, const StepScalars* scalars) const {
  const bool free = is_schedule_free();
  for (const Piece& piece : by_decay_)
    free ? update_schedule_free(ctx, scalars, piece) : update_by_adam(ctx, scalars, piece);
  if (muon_) update_by_muon(ctx, scalars);
}

void Optimizer::update_by_adam(Context& ctx, const StepScalars* scalars, const Piece& piece) const {
  const auto& [range, place] = piece;
  const int64_t first = range.begin, count = range.end - first;
  ops::adam(ctx, {.param = values_of(piece),
                  .grad = params_.grads().slice_rows(first, count),
                  .m = first_moment().part(place, count),
                  .v = second_moment().part(place, count),
                  .copy = params_.mixed() ? params_.rounded().slice_rows(first, count) : Tensor(),
                  .average = has_average() ? average().part(place, count) : Tensor(),
                  .beta1 = static_cast<float>(config_.beta1),
                  .beta2 = static_cast<float>(config_.beta2),
                  .eps = static_cast<float>(config_.eps),
                  .weight_decay = range.has_property ? static_cast<float>(config_.weight_decay) : 0.0f,
                  .scalars = scalars});
  if (!sharded()) params_.refresh(ctx, range);
}

void Optimizer::update_schedule_free(Context& ctx, const StepScalars* scalars, const Piece& piece) const {
  const auto& [range, place] = piece;
  const int64_t first = range.begin, count = range.end - first;
  ops::schedule_free(ctx, {.param = values_of(piece),
                           .grad = params_.grads().slice_rows(first, count),
                           .z = first_moment().part(place, count),
                           .v = second_moment().part(place, count),
                           .copy = params_.mixed() ? params_.rounded().slice_rows(first, count) : Tensor(),
                           .beta1 = static_cast<float>(config_.beta1),
                           .beta2 = static_cast<float>(config_.beta2),
                           .eps = static_cast<float>(config_.eps),
                           .weight_decay = range.has_property ? static_cast<float>(config_.weight_decay) : 0.0f,
                           .scalars = scalars});
  if (!sharded()) params_.refresh(ctx, range);
}

// Of schedule-free steps: y = (1 - beta1) z + beta1 x, solved for x.
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
  if (is_schedule_free()) copy_values(ctx, first_moment());
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

// The gradients become updates of the momentum, then orthogonalised ones.
void Optimizer::update_by_muon(Context& ctx, const StepScalars* scalars) const {
  const auto grads = [&](const Piece& piece) {
    return params_.grads().slice_rows(piece.range.begin, piece.range.end - piece.range.begin);
  };
  for (const Piece& piece : of_muon_)
    ops::muon_momentum(ctx, {.grad = grads(piece),
                             .m = first_moment().part(piece.range.begin, grads(piece).numel()),
                             .momentum = static_cast<float>(config_.muon_momentum),
                             .scalars = scalars});
  muon_->orthogonalise(ctx);
  for (const Piece& piece : of_muon_) {
    const int64_t first = piece.range.begin, count = grads(piece).numel();
    ops::muon_update(ctx, {.param = params_.values().slice_rows(first, count),
                           .update = grads(piece),
                           .copy = params_.mixed() ? params_.rounded().slice_rows(first, count) : Tensor(),
                           .average = has_average() ? average().part(first, count) : Tensor(),
                           .weight_decay = piece.range.has_property ? static_cast<float>(config_.weight_decay) : 0.0f,
                           .scalars = scalars});
    params_.refresh(ctx, piece.range);
  }
}

}  // namespace weft
