// model/layers/residual.cpp: the residual stream of a block, forward and backward.
#include "model/layers/residual.h"

namespace weft {

const LayerNorm* BlockNorms::after(size_t sublayers) const {
  if (place == NormPosition::pre) return sublayers < num_sublayers() ? of_sublayer[sublayers] : nullptr;
  return sublayers > 0 ? of_sublayer[sublayers - 1] : nullptr;
}

// All stages take their memory here, so that a sublayer may free its own within.
ResidualStream::ResidualStream(Pass& p, BlockNorms norms, const Tensor& x, const Tensor& y, Saved* saved)
    : norms_(std::move(norms)) {
  Stage first{.sum = {.x = x}, .normed = x};
  if (const LayerNorm* norm = norms_.after(0)) {
    first.normed = p.arena.like(x);
    norm->forward(p, x, first.normed, &first.sum);
  }
  stages_.push_back(first);
  for (size_t i = 1; i <= norms_.num_sublayers(); ++i) {
    const Tensor normed = i == norms_.num_sublayers() ? y : p.arena.like(x);
    const Tensor sum = norms_.after(i) ? p.arena.like(x) : normed;
    stages_.push_back(
        {.sum = {.x = sum, .mean = p.arena.tensor({x.rows()}), .rstd = p.arena.tensor({x.rows()})}, .normed = normed});
  }
  if (saved) *saved = stages_;
}

void ResidualStream::add(Pass& p, const Tensor& output, const Tensor& bias, const Dropout& dropout) {
  const Tensor residual = norms_.place == NormPosition::pre ? stages_[done_].sum.x : stages_[done_].normed;
  const Stage& next = stages_[++done_];
  if (const LayerNorm* norm = norms_.after(done_)) {
    norm->forward(p, {.residual = residual,
                      .x = output,
                      .bias = bias,
                      .h = next.sum.x,
                      .y = next.normed,
                      .mean = next.sum.mean,
                      .rstd = next.sum.rstd,
                      .dropout = dropout});
  } else {
    ops::dropout_add_forward(p.ctx,
                             {.residual = residual, .x = output, .bias = bias, .y = next.sum.x, .dropout = dropout});
  }
}

ResidualGradient::ResidualGradient(Pass& p, BlockNorms norms, const Tensor& d, const ResidualStream::Saved& saved)
    : norms_(std::move(norms)), d_(d), d_input_(p.arena.like(d)), saved_(saved), left_(norms_.num_sublayers()) {}

Tensor ResidualGradient::d_output(Pass& p, const Tensor& d_bias, const Dropout& dropout) {
  const bool pre = norms_.place == NormPosition::pre;
  if (!pre && left_ < norms_.num_sublayers()) ops::add(p.ctx, {.x = d_input_, .y = d_});  // the norm's is one sum
  const LayerNorm* norm = norms_.after(left_);
  const LayerNorm::Saved& sum = saved_[left_--].sum;
  const Tensor d_output = dropout.rate > 0 ? p.arena.like(d_) : d_;
  if (norm) {
    norm->backward(p, {.d_y = pre ? d_input_ : d_,
                       .h = sum.x,
                       .mean = sum.mean,
                       .rstd = sum.rstd,
                       .d_residual = pre ? d_ : Tensor(),
                       .d_h = d_,
                       .d_x = d_output,
                       .d_bias = d_bias,
                       .dropout = dropout});
  } else {
    if (dropout.rate > 0) ops::dropout_backward(p.ctx, {.d_y = d_, .d_x = d_output, .dropout = dropout});
    if (!d_bias.empty()) ops::column_sum(p.ctx, {.x = d_output, .y = d_bias});
  }
  return d_output;
}

void ResidualGradient::finish(Pass& p) const {
  if (const LayerNorm* norm = norms_.after(0)) {
    norm->backward(p, d_input_, saved_[0].sum, /*d_residual=*/d_, d_);
  } else {
    ops::add(p.ctx, {.x = d_input_, .y = d_});
  }
}

}  // namespace weft
