// model/feed_forward.cpp: position-wise feed-forward sublayer.   R rows of a block, D width, F hidden (F/tp on this
// rank)
#include "model/feed_forward.h"

#include "model/partial_sum.h"

namespace weft {

FeedForward::FeedForward(ParamStore& params, const std::string& name, const ModelConfig& c)
    : up_(params, name + ".up", {c.feed_forward}, /*split=*/0, c.width, c.feed_forward, c.bias_feed_forward),
      down_(params, name + ".down", {c.feed_forward}, c.width, c.bias_feed_forward, c.dropout_residual),
      activation_(c.activation),
      width_(c.feed_forward),
      rate_(c.dropout_feed_forward),
      purpose_(purpose_of(name + ".activation.dropout")) {}

Dropout FeedForward::dropout(const Pass& p, int64_t rows) const {
  return p.dropout(rate_, purpose_, rows, width_, p.tp.rank() * up_.out());
}

void FeedForward::forward(Pass& p, ResidualStream& stream, Saved* saved) const {
  const Tensor x = stream.input();
  const Tensor hidden = p.arena.tensor({x.rows(), up_.out()}, x.dtype);
  const Tensor act = activation_ == Activation::relu ? hidden : p.arena.like(hidden);
  up_.forward(p, x, hidden);  // [R, F/tp]
  ops::activation_forward(p.ctx, {.x = hidden, .y = act, .kind = activation_, .dropout = dropout(p, x.rows())});
  down_.forward(p, act, stream);  // [R, D]  sum over tp
  if (saved) *saved = {.x = x, .hidden = hidden, .act = act};
}

void FeedForward::backward(Pass& p, ResidualGradient& d, const Saved& s) const {
  ArenaScope scope(p.arena);
  const Tensor d_hidden = p.arena.like(s.hidden);
  down_.backward(p, d, s.act, d_hidden);
  ops::activation_backward(p.ctx, {.x = s.hidden,
                                   .y = s.act,
                                   .d_y = d_hidden,
                                   .d_x = d_hidden,
                                   .kind = activation_,
                                   .dropout = dropout(p, s.x.rows())});
  const PartialSum sum(p, d.d_input());
  up_.backward(p, d_hidden, s.x, sum.part());
  sum.finish(p);  // [R, D]  sum over tp
}

}  // namespace weft
