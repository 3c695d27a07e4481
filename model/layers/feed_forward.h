// model/layers/feed_forward.h: the position-wise feed-forward sublayer (Vaswani et al. 2017, section 3.3), split over
// tp.
//
// R is the number of rows, D the width, F the hidden width. y = down(dropout(act(up(x)))), without down's bias. A gated
// linear unit (Shazeer 2020) uses two matrices in `up`: y = down(dropout(act(gate(x)) * value(x))). `up` is
// column-parallel and `down` is row-parallel, so forward and backward each end with one all-reduce over tp.
#pragma once

#include <string>

#include "model/config.h"
#include "model/layers/linear.h"

namespace weft {

class FeedForward {
 public:
  struct Saved {
    Tensor x, act;  // [R, D], or own rows; [R, F/tp] after activation and dropout
    // What the activation's gradient reads: the activation's inputs [R, F/tp], both inputs [R, 2, F/tp] of a gated
    // unit, act, or what ops::Epilogue saved.
    Tensor kept;
  };
  FeedForward(ParamStore& params, const std::string& name, const ModelConfig& config);

  PartialSum forward(Pass& p, const Tensor& x, const Tensor& y, Saved* saved) const;
  void backward(Pass& p, const Tensor& d_y, const Saved& saved, const InputGradient& d_x) const;  // d_x may be d_y

 private:
  Tensor activate(Pass& p, const Tensor& x, const Tensor& act, bool keep) const;
  Dropout dropout(const Pass& p, int64_t rows) const;
  bool fuses_activation(const Dropout& dropout) const {
    return !gated_ && dropout.rate <= 0 && !up_.has_adapters() && !down_.has_adapter();
  }
  Tensor allocate_saved(Pass& p, const Tensor& act) const;
  ColumnParallelLinear up_;
  RowParallelLinear down_;
  Activation activation_;
  bool gated_;
  int64_t width_;  // F over all ranks
  double rate_;
  uint32_t purpose_;
};

}  // namespace weft
