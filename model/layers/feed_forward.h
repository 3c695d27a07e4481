// model/layers/feed_forward.h: position-wise feed-forward sublayer, split over the tp axis.
//
// x = x + dropout(down(dropout(act(up(x))))) in the residual stream.  up is column-parallel, down is row-parallel:
// forward ends with one sum over tp, backward ends with one.  Reads: linear.h.  Paper: Vaswani et al. 2017,
// section 3.3.
#pragma once

#include <string>

#include "model/config.h"
#include "model/layers/linear.h"

namespace weft {

class FeedForward {
 public:
  struct Saved {
    Tensor x, act;  // [R, D]; [R, F/tp] after activation and dropout
    Tensor kept;    // what the activation's gradient reads: its inputs, act itself, or what the device made of them
  };
  FeedForward(ParamStore& params, const std::string& name, const ModelConfig& config);

  void forward(Pass& p, ResidualStream& stream, Saved* saved) const;
  void backward(Pass& p, ResidualGradient& d, const Saved& saved) const;

 private:
  Dropout dropout(const Pass& p, int64_t rows) const;
  Tensor room_to_keep(Pass& p, const Tensor& act) const;
  ColumnParallelLinear up_;
  RowParallelLinear down_;
  Activation activation_;
  int64_t width_;  // F, global
  double rate_;
  uint32_t purpose_;
};

}  // namespace weft
