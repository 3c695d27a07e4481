// model/layers/linear.cpp: implements column-parallel and row-parallel linear layers.
#include "model/layers/linear.h"

#include "tensor/ops.h"

namespace weft {
namespace {

Shape joined(const Shape& a, const Shape& b) {
  Shape s;
  for (int i = 0; i < a.rank(); ++i) s = s.appended(a[i]);
  for (int i = 0; i < b.rank(); ++i) s = s.appended(b[i]);
  return s;
}

Shape without_first(const Shape& a) {
  Shape s;
  for (int i = 1; i < a.rank(); ++i) s = s.appended(a[i]);
  return s;
}

Tensor flat(const Tensor& t) { return t.with_shape({t.numel()}); }

}  // namespace

ColumnParallelLinear::ColumnParallelLinear(ParamStore& params, const std::string& name, const OutputFeatures& out,
                                           int64_t in, bool bias, const LoraConfig& lora)
    : in_(in), num_parts_(static_cast<int64_t>(out.parts.size())) {
  weight_ = params.declare({.name = name + ".weight",
                            .shape = joined(out.shape, {in}),
                            .tp_dim = out.split,
                            .init = InitSpec::xavier(in, out.fan_out),
                            .fused = out.split > 0 ? out.shape[0] : 1,
                            .decay = true,
                            .matrix = true});
  params.use_as_matrix(weight_, this->out());
  if (bias) bias_ = params.declare({.name = name + ".bias", .shape = out.shape, .tp_dim = out.split});
  for (int64_t i = 0; i < num_parts_; ++i) {
    const std::string& part = out.parts[static_cast<size_t>(i)];
    if (!lora.targets_part(part)) continue;
    const bool is_whole = num_parts_ == 1;
    const LoraShape shape{.in = {in},
                          .out = is_whole ? out.shape : without_first(out.shape),
                          .out_split = is_whole ? out.split : out.split - 1,
                          .fused = is_whole ? weight_->spec.fused : 1};
    adapters_.push_back({i, LoraAdapter(params, is_whole ? name : name + "." + part, shape, lora)});
  }
}

Tensor ColumnParallelLinear::part_of(const Tensor& y, int64_t part) const {
  const int64_t columns = out() / num_parts_;
  return y.slice_cols(part * columns, columns);
}

void ColumnParallelLinear::forward(Pass& p, const Tensor& x, const Tensor& y, const ops::Epilogue& epilogue) const {
  ops::gemm(p.ctx, {.a = x,
                    .b = weight_->weight,
                    .c = y,
                    .trans_b = true,
                    .bias = bias_ ? flat(bias_->value) : Tensor(),
                    .rounded_bias = bias_ ? flat(bias_->compute) : Tensor(),
                    .epilogue = epilogue});
  for (const auto& [part, adapter] : adapters_) adapter.add(p, x, part_of(y, part));
}

void ColumnParallelLinear::backward(Pass& p, const Tensor& d_y, const Tensor& x, const InputGradient& d_x) const {
  PartialSum sum(p, d_x);
  backward_part(p, d_y, x, sum.part(), sum.accumulates());
  sum.reduce(p);
  sum.finish(p);
}

void ColumnParallelLinear::backward_part(Pass& p, const Tensor& d_y, const Tensor& x, const Tensor& d_x,
                                         bool accumulate) const {
  ops::gemm(p.ctx, {.a = d_y, .b = weight_->weight, .c = d_x, .accumulate = accumulate});
  for (const auto& [part, adapter] : adapters_) adapter.backward(p, part_of(d_y, part), x, d_x);
  if (!weight_->trains()) {
    if (bias_ && bias_->trains()) ops::column_sum(p.ctx, {.x = d_y, .y = flat(bias_->grad)});
    return;
  }
  ops::gemm(p.ctx, {.a = d_y,
                    .b = x,
                    .c = weight_->weight_grad(),
                    .trans_a = true,
                    .accumulate = true,
                    .d_bias = bias_ ? flat(bias_->grad) : Tensor()});
}

RowParallelLinear::RowParallelLinear(ParamStore& params, const std::string& name, Shape in, int64_t out,
                                     const std::string& part, const LoraConfig& lora)
    : out_(out) {
  weight_ = params.declare({.name = name + ".weight",
                            .shape = joined({out}, in),
                            .tp_dim = 1,
                            .init = InitSpec::xavier(in.numel(), out),
                            .decay = true,
                            .matrix = true});
  params.use_as_matrix(weight_, out);
  if (lora.targets_part(part)) adapter_.emplace(params, name, LoraShape{.in = in, .out = {out}, .in_split = 0}, lora);
}

PartialSum RowParallelLinear::forward(Pass& p, const Tensor& x, const Tensor& y) const {
  PartialSum sum(p, y);
  ops::gemm(p.ctx, {.a = x, .b = weight_->weight, .c = sum.part(), .trans_b = true});
  if (adapter_) adapter_->add(p, x, sum.part());
  sum.reduce(p);
  return sum;
}

void RowParallelLinear::backward(Pass& p, const Tensor& d_y, const Tensor& x, const Tensor& d_x,
                                 const ops::Epilogue& epilogue) const {
  ops::gemm(p.ctx, {.a = d_y, .b = weight_->weight, .c = d_x, .epilogue = epilogue});
  if (adapter_) adapter_->backward(p, d_y, x, d_x);
  if (!weight_->trains()) return;
  ops::gemm(p.ctx, {.a = d_y, .b = x, .c = weight_->weight_grad(), .trans_a = true, .accumulate = true});
}

}  // namespace weft
