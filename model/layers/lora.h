// model/layers/lora.h: a low-rank adapter beside a frozen matrix W [out, in] (Hu et al. 2021, section 4.1):
//   y = x W^T + s dropout(x) A^T B^T,  A [r, in], B [out, r], s = lora.alpha / lora.rank.
//
// A starts uniform in +-1 / sqrt(in), as in PyTorch's package peft, and B at 0. If W is column-parallel, so is B, and A
// is replicated; if W is row-parallel, A is split, and B is replicated. The adapter's output joins the sum over tp that
// W's output needs. Only the backward pass adds an all-reduce, of [R, r].
#pragma once

#include <string>

#include "model/lora_config.h"
#include "model/parameters/param_store.h"
#include "model/pass.h"

namespace weft {

struct LoraShape {
  Shape in, out;                      // features of all ranks: {width}, or {heads, head_size}
  int in_split = -1, out_split = -1;  // the dimension that is split over tp; exactly one of them is not -1
  int64_t fused = 1;                  // see ParamSpec
};

class LoraAdapter {
 public:
  LoraAdapter(ParamStore& params, const std::string& name, const LoraShape& shape, const LoraConfig& config);

  // y [R, out] += s B A dropout(x), for x [R, in] of this rank.
  void add(Pass& p, const Tensor& x, const Tensor& y) const;
  // Accumulates the gradients of A and B, and adds this rank's part of x's gradient to d_x.
  void backward(Pass& p, const Tensor& d_y, const Tensor& x, const Tensor& d_x) const;

 private:
  Dropout dropout(const Pass& p, int64_t rows) const;
  Tensor reduced(Pass& p, const Tensor& x) const;   // dropout(x)
  Tensor low_rank(Pass& p, const Tensor& x) const;  // s x A^T, [R, r]
  void scale(Pass& p, const Tensor& x) const;

  const Param *a_, *b_;
  int64_t rank_, width_;  // width_: of all ranks' inputs
  bool splits_input_;
  float scale_;
  double rate_;
  uint32_t purpose_;
};

}  // namespace weft
