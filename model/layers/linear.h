// model/layers/linear.h: the two linear layers of tensor parallelism (Shoeybi et al. 2019), each with explicit
// backward.
//
// Column-parallel: every rank sees the whole input and makes its own columns; no communication forward, and the caller
// sums the input's gradient over tp. Row-parallel: every rank has a part of the input; forward ends with one sum over
// tp, which joins the residual stream with bias and dropout. Weights are [out, in]: y = x W^T + b.
#pragma once

#include <string>

#include "model/layers/residual.h"
#include "model/parameters/param_store.h"
#include "model/pass.h"

namespace weft {

class ColumnParallelLinear {
 public:
  // `out` is the true shape of the output features, e.g. {3, heads, head_size}; dimension `split` of it is split.
  ColumnParallelLinear(ParamStore& params, const std::string& name, Shape out, int split, int64_t in, int64_t fan_out,
                       bool bias);

  int64_t out() const { return weight_->numel() / in_; }                         // local features
  void forward(Pass& p, const Tensor& x, const Tensor& y,                        // [R, in] -> [R, out()]
               const ops::Epilogue& epilogue = {}) const;                        // of y
  void backward(Pass& p, const Tensor& d_y, const Tensor& x, const Tensor& d_x,  // d_x: this rank's part of the sum
                bool accumulate_d_x = false) const;

 private:
  const Param *weight_, *bias_ = nullptr;
  int64_t in_;
};

class RowParallelLinear {
 public:
  // `in` is the true shape of the input features, e.g. {heads, head_size}; its first dimension is split.
  RowParallelLinear(ParamStore& params, const std::string& name, Shape in, int64_t out, bool bias, double dropout);

  int64_t in() const { return weight_->numel() / out_; }  // local features
  void forward(Pass& p, const Tensor& x, ResidualStream& stream) const;
  void backward(Pass& p, ResidualGradient& d, const Tensor& x, const Tensor& d_x,
                const ops::Epilogue& epilogue = {}) const;  // of d_x

 private:
  Dropout dropout(const Pass& p, int64_t rows) const { return p.dropout(rate_, purpose_, rows, out_); }
  const Param *weight_, *bias_ = nullptr;
  int64_t out_;
  double rate_;
  uint32_t purpose_;
};

}  // namespace weft
