// model/layers/feed_forward.cpp: position-wise feed-forward sublayer.   R rows of a block, D width, F hidden (F/tp on
// this rank)
#include "model/layers/feed_forward.h"

namespace weft {

using Kind = ops::Epilogue::Kind;

FeedForward::FeedForward(ParamStore& params, const std::string& name, const ModelConfig& c)
    : up_(params, name + ".up", {c.feed_forward}, /*split=*/0, c.width, c.feed_forward, c.bias_feed_forward),
      down_(params, name + ".down", {c.feed_forward}, c.width),
      activation_(c.activation),
      width_(c.feed_forward),
      rate_(c.dropout_feed_forward),
      purpose_(purpose_of(name + ".activation.dropout")) {}

Dropout FeedForward::dropout(const Pass& p, int64_t rows) const {
  return p.dropout(rate_, purpose_, rows, width_, p.tp.rank() * up_.out());
}

// Without dropout between them, the activation and its gradient are epilogues of the matrix products.
PartialSum FeedForward::forward(Pass& p, const Tensor& x, const Tensor& y, Saved* saved) const {
  const Tensor act = p.arena.tensor({x.rows(), up_.out()}, x.dtype);
  const Dropout dropout = this->dropout(p, x.rows());
  Tensor kept;
  if (dropout.rate > 0) {
    kept = activation_ == Activation::relu ? act : p.arena.like(act);  // relu's gradient needs only act
    up_.forward(p, x, kept);
    ops::activation_forward(p.ctx, {.x = kept, .y = act, .kind = activation_, .dropout = dropout});
  } else {
    if (saved) kept = room_to_keep(p, act);
    up_.forward(p, x, act, {.kind = Kind::activate, .activation = activation_, .saved = kept});
  }
  if (saved) *saved = {.x = x, .act = act, .kept = kept};
  return down_.forward(p, act, y);
}

Tensor FeedForward::room_to_keep(Pass& p, const Tensor& act) const {
  const int64_t numel = ops::saved_numel(p.ctx.device(), activation_, act.dtype, act.rows(), act.cols());
  return numel > 0 ? p.arena.tensor({numel}, act.dtype) : act;
}

void FeedForward::backward(Pass& p, const Tensor& d_y, const Saved& s, const Tensor& d_x) const {
  ArenaScope scope(p.arena);
  const Tensor d_hidden = p.arena.like(s.act);
  const Dropout dropout = this->dropout(p, s.x.rows());
  if (dropout.rate > 0) {
    down_.backward(p, d_y, s.act, d_hidden);
    ops::activation_backward(
        p.ctx, {.x = s.kept, .y = s.act, .d_y = d_hidden, .d_x = d_hidden, .kind = activation_, .dropout = dropout});
  } else {
    down_.backward(p, d_y, s.act, d_hidden, {.kind = Kind::differentiate, .activation = activation_, .saved = s.kept});
  }
  up_.backward(p, d_hidden, s.x, d_x);
}

}  // namespace weft
