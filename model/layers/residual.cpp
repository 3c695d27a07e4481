// model/layers/residual.cpp: implements the residual stream of a block, forward and backward.
#include "model/layers/residual.h"

namespace weft {

ResidualConnection::ResidualConnection(ParamStore& params, const std::string& sublayer, const std::string& output,
                                       bool bias, const ModelConfig& c)
    : bias_(bias ? params.declare({.name = sublayer + "." + output + ".bias", .shape = {c.width}, .sums_rows = true})
                 : nullptr),
      width_(c.width),
      rate_(c.dropout_residual),
      purpose_(purpose_of(sublayer + "." + output + ".dropout")),
      norm_(params, sublayer + ".norm", c) {}

const Norm* Residuals::norm_after(size_t sublayers) const {
  if (norm_position == NormPosition::pre) return sublayers < size() ? &connections[sublayers]->norm() : nullptr;
  return sublayers > 0 ? &connections[sublayers - 1]->norm() : nullptr;
}

// Allocates all stages here, so that a sublayer's memory can be freed independently.
ResidualStream::ResidualStream(Pass& p, Residuals residuals, const Tensor& x, const Tensor& y, Saved* saved)
    : residuals_(std::move(residuals)), saves_(saved != nullptr) {
  Stage first{.sum = {.x = x}, .normed = x};
  if (const Norm* norm = residuals_.norm_after(0)) {
    first.normed = p.arena.like(x);
    norm->forward(p, x, first.normed, &first.sum);
  }
  stages_.push_back(first);
  for (size_t i = 1; i <= residuals_.size(); ++i) {
    const Tensor normed = i == residuals_.size() ? y : p.arena.like(x);
    const Norm* norm = residuals_.norm_after(i);
    stages_.push_back({.sum = norm ? norm->allocate(p, p.arena.like(x)) : Norm::Saved{.x = normed}, .normed = normed});
  }
  if (saved) *saved = stages_;
  mark_ = p.arena.mark();
}

void ResidualStream::add(Pass& p, const PartialSum& output) {
  const bool pre = residuals_.norm_position == NormPosition::pre;
  const ResidualConnection& connection = *residuals_.connections[done_];
  const Tensor& residual = pre ? stages_[done_].sum.x : stages_[done_].normed;
  const Dropout dropout = connection.dropout(p, residual.rows());
  const Stage& next = stages_[++done_];
  if (const Norm* norm = residuals_.norm_after(done_)) {
    norm->forward(p, {.residual = residual,
                      .x = output.sum(),
                      .bias = connection.bias(),
                      .h = next.sum.x,
                      .y = next.normed,
                      .mean = next.sum.mean,
                      .rstd = next.sum.rstd,
                      .dropout = dropout});
  } else {
    ops::dropout_add_forward(
        p.ctx,
        {.residual = residual, .x = output.sum(), .bias = connection.bias(), .y = next.sum.x, .dropout = dropout});
  }
  if (!saves_) p.arena.reset(mark_);
}

ResidualGradient::ResidualGradient(Pass& p, Residuals residuals, const Tensor& d, const ResidualStream::Saved& saved)
    : residuals_(std::move(residuals)), d_(d), d_input_(p.arena.like(d)), saved_(saved), left_(residuals_.size()) {}

Tensor ResidualGradient::of_output(Pass& p) {
  const bool pre = residuals_.norm_position == NormPosition::pre;
  const Norm* norm = residuals_.norm_after(left_);
  const Norm::Saved& sum = saved_[left_].sum;
  const ResidualConnection& connection = *residuals_.connections[--left_];
  const Dropout dropout = connection.dropout(p, d_.rows());
  const Tensor d_output = dropout.rate > 0 ? d_input_ : d_;
  if (norm) {
    norm->backward(p,
                   {.d_y = pre ? d_input_ : d_,
                    .h = sum.x,
                    .mean = sum.mean,
                    .rstd = sum.rstd,
                    .d_residual = pre ? d_ : Tensor(),
                    .d_h = d_,
                    .d_x = d_output,
                    .d_bias = connection.d_bias(),
                    .dropout = dropout},
                   sums_.norms.at(num_sums_++));
  } else {
    if (dropout.rate > 0) ops::dropout_backward(p.ctx, {.d_y = d_, .d_x = d_output, .dropout = dropout});
    if (!connection.d_bias().empty()) ops::column_sum(p.ctx, {.x = d_output, .y = connection.d_bias()});
  }
  return d_output;
}

InputGradient ResidualGradient::of_input() const {
  if (residuals_.norm_position == NormPosition::pre) return {.d = d_input_};
  return {.d = d_, .add = true};
}

void ResidualGradient::finish(Pass& p) {
  if (const Norm* norm = residuals_.norm_after(0))
    norm->backward(p, d_input_, saved_[0].sum, /*d_residual=*/d_, d_, &sums_.norms.at(num_sums_++));
  ops::norm_sums(p.ctx, sums_);
}

}  // namespace weft
