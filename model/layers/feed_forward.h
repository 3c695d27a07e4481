// model/layers/feed_forward.h: position-wise feed-forward sublayer (Vaswani et al. 2017, section 3.3), split over the
// tp axis.
//
// y = down(dropout(act(up(x)))), without down's bias. `up` is column-parallel, `down` row-parallel: forward ends with
// one sum over tp, and so does backward.
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

  PartialSum forward(Pass& p, const Tensor& x, const Tensor& y, Saved* saved) const;
  void backward(Pass& p, const Tensor& d_y, const Saved& saved, const Tensor& d_x) const;  // d_x may be d_y

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
