// model/layers/feed_forward.cpp: implements the position-wise feed-forward sublayer.
#include "model/layers/feed_forward.h"

#include "model/layers/all_rows.h"

#include "tensor/profiler_range.h"

namespace weft {

using Kind = ops::Epilogue::Kind;

namespace {

Shape up_shape(const ModelConfig& c) {
  return is_gated(c.activation) ? Shape{2, c.feed_forward}
                                : Shape{c.feed_forward};  // first the gate's matrix, then the value's
}
Tensor gate(const Tensor& up) { return up.slice_cols(0, up.cols() / 2); }
Tensor value(const Tensor& up) { return up.slice_cols(up.cols() / 2, up.cols() / 2); }

}  // namespace

FeedForward::FeedForward(ParamStore& params, const std::string& name, const ModelConfig& c)
    : up_(params, name + ".up",
          {.shape = up_shape(c), .split = is_gated(c.activation) ? 1 : 0, .fan_out = c.feed_forward, .parts = {"up"}},
          c.width, c.bias_feed_forward, c.lora),
      down_(params, name + ".down", {c.feed_forward}, c.width, "down", c.lora),
      activation_(function_of(c.activation)),
      gated_(is_gated(c.activation)),
      width_(c.feed_forward),
      rate_(c.dropout_feed_forward),
      purpose_(purpose_of(name + ".activation.dropout")) {}

Dropout FeedForward::dropout(const Pass& p, int64_t rows) const {
  return p.dropout(rate_, purpose_, rows, width_, p.tp.rank() * down_.in());
}

PartialSum FeedForward::forward(Pass& p, const Tensor& x, const Tensor& y, Saved* saved) const {
  const ProfilerRange range(p.ctx, "feed_forward");
  const Tensor act = p.arena.tensor({p.all_rows(x.rows()), down_.in()}, x.dtype);
  const Tensor kept = activate(p, x, act, saved != nullptr);
  if (saved) *saved = {.x = x, .act = act, .kept = kept};
  return down_.forward(p, act, y);
}

void FeedForward::backward(Pass& p, const Tensor& d_y, const Saved& s, const InputGradient& d_x) const {
  const ProfilerRange range(p.ctx, "feed_forward backward");
  ArenaScope scope(p.arena);
  const Tensor d_act = p.arena.like(s.act);
  const Dropout dropout = this->dropout(p, s.act.rows());
  if (fuses_activation(dropout)) {
    down_.backward(p, AllRows(p, d_y), s.act, d_act,
                   {.kind = Kind::differentiate, .activation = activation_, .saved = s.kept});
    return up_.backward(p, d_act, AllRows(p, s.x), d_x);
  }
  down_.backward(p, AllRows(p, d_y), s.act, d_act);
  const Tensor d_up = gated_ ? p.arena.like(s.kept) : d_act;
  if (gated_) {
    ops::gated_activation_backward(p.ctx, {.gate = gate(s.kept),
                                           .value = value(s.kept),
                                           .d_y = d_act,
                                           .d_gate = gate(d_up),
                                           .d_value = value(d_up),
                                           .kind = activation_,
                                           .dropout = dropout});
  } else {
    ops::activation_backward(
        p.ctx, {.x = s.kept, .y = s.act, .d_y = d_act, .d_x = d_up, .kind = activation_, .dropout = dropout});
  }
  up_.backward(p, d_up, AllRows(p, s.x), d_x);
}

// Computes act. If `keep`, returns what the activation's gradient reads. Without gate, dropout and adapters, the
// activation and its gradient are epilogues of the GEMMs.
Tensor FeedForward::activate(Pass& p, const Tensor& x, const Tensor& act, bool keep) const {
  const Dropout dropout = this->dropout(p, act.rows());
  if (fuses_activation(dropout)) {
    const Tensor kept = keep ? allocate_saved(p, act) : Tensor();
    up_.forward(p, AllRows(p, x), act, {.kind = Kind::activate, .activation = activation_, .saved = kept});
    return kept;
  }
  // relu needs no memory for its inputs, because its gradient reads only act.
  const Tensor up = !gated_ && activation_ == Activation::relu ? act : p.arena.tensor({act.rows(), up_.out()}, x.dtype);
  up_.forward(p, AllRows(p, x), up);
  if (gated_) {
    ops::gated_activation_forward(
        p.ctx, {.gate = gate(up), .value = value(up), .y = act, .kind = activation_, .dropout = dropout});
  } else {
    ops::activation_forward(p.ctx, {.x = up, .y = act, .kind = activation_, .dropout = dropout});
  }
  return up;
}

Tensor FeedForward::allocate_saved(Pass& p, const Tensor& act) const {
  const int64_t numel = ops::saved_numel(p.ctx.device(), activation_, act.dtype, act.rows(), act.cols());
  return numel > 0 ? p.arena.tensor({numel}, act.dtype) : act;
}

}  // namespace weft
