// model/layers/linear.h: defines the two linear layers of tensor parallelism (Shoeybi et al. 2019, section 3). Weights
// are [out, in]: y = x W^T + b.
//
// Column-parallel: every rank reads the replicated input and computes its own columns of the output. Forward does not
// communicate; backward all-reduces the gradient of the input over tp. Row-parallel: every rank holds some columns of
// the input. Forward all-reduces the output over tp; backward does not communicate. If ranks split rows
// (Pass::sequence), reduce-scatters replace the all-reduces, and the sublayers all-gather what these layers read
// (all_rows.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/layers/lora.h"
#include "model/layers/partial_sum.h"
#include "model/parameters/param_store.h"

namespace weft {

struct OutputFeatures {  // output features of a column-parallel layer
  Shape shape;           // full shape, for example {3, heads, head_size}
  int split = 0;         // the dimension that is split over tp
  int64_t fan_out = 0;   // determines the initial values
  // Names for lora.targets. If there are several, each is the name of an entry of the first dimension.
  std::vector<std::string> parts = {};
};

class ColumnParallelLinear {
 public:
  // Declares name.weight and, if `bias`, name.bias, and the adapters of `lora`.
  ColumnParallelLinear(ParamStore& params, const std::string& name, const OutputFeatures& out, int64_t in, bool bias,
                       const LoraConfig& lora);

  int64_t out() const { return weight_->numel() / in_; }  // features on this rank
  bool has_adapters() const { return !adapters_.empty(); }
  // Computes y [R, out()] from x [R, in], and applies the epilogue to y. REQUIRES: no epilogue, or no adapters.
  void forward(Pass& p, const Tensor& x, const Tensor& y, const ops::Epilogue& epilogue = {}) const;
  // Computes d_x [R, in], all-reduced over tp; if ranks split rows, own rows of d_x, reduce-scattered.
  void backward(Pass& p, const Tensor& d_y, const Tensor& x, const InputGradient& d_x) const;
  // Like backward without the all-reduce, which the caller must do: sets d_x to this rank's part or, if `accumulate`,
  // adds the part to d_x.
  void backward_part(Pass& p, const Tensor& d_y, const Tensor& x, const Tensor& d_x, bool accumulate) const;

 private:
  struct PartAdapter {
    int64_t part;  // of the output's columns
    LoraAdapter adapter;
  };
  Tensor part_of(const Tensor& y, int64_t part) const;

  const Param *weight_, *bias_ = nullptr;
  int64_t in_, num_parts_;
  std::vector<PartAdapter> adapters_;
};

class RowParallelLinear {  // has no bias: residual.h adds the bias once, after the all-reduce
 public:
  // Declares name.weight. `in` is the full shape of the input features, for example {heads, head_size}, whose first
  // dimension is split over tp. `part` is the name for lora.targets.
  RowParallelLinear(ParamStore& params, const std::string& name, Shape in, int64_t out, const std::string& part,
                    const LoraConfig& lora);

  int64_t in() const { return weight_->numel() / out_; }  // features on this rank
  bool has_adapter() const { return adapter_.has_value(); }
  // Computes y [R, out] from x [R, in()], all-reduced over tp; if ranks split rows, own rows of y, reduce-scattered.
  PartialSum forward(Pass& p, const Tensor& x, const Tensor& y) const;
  // Computes d_x [R, in()] from d_y [R, out], which is the same on every rank, and applies the epilogue to d_x.
  // REQUIRES: no epilogue, or no adapter.
  void backward(Pass& p, const Tensor& d_y, const Tensor& x, const Tensor& d_x,
                const ops::Epilogue& epilogue = {}) const;

 private:
  const Param* weight_;
  int64_t out_;
  std::optional<LoraAdapter> adapter_;
};

}  // namespace weft
