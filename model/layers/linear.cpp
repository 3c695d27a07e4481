// model/layers/linear.cpp: column-parallel and row-parallel linear layers.
#include "model/layers/linear.h"

#include "model/layers/partial_sum.h"
#include "tensor/ops.h"

namespace weft {
namespace {

Shape joined(const Shape& a, const Shape& b) {
  Shape s;
  for (int i = 0; i < a.rank(); ++i) s = s.appended(a[i]);
  for (int i = 0; i < b.rank(); ++i) s = s.appended(b[i]);
  return s;
}

Tensor matrix(const Tensor& t, int64_t rows) { return t.with_shape({rows, t.numel() / rows}); }
Tensor vector(const Param* p, bool grad = false) {
  if (!p) return {};
  const Tensor& t = grad ? p->grad : p->value;
  return t.with_shape({t.numel()});
}

}  // namespace

ColumnParallelLinear::ColumnParallelLinear(ParamStore& params, const std::string& name, Shape out, int split,
                                           int64_t in, int64_t fan_out, bool bias)
    : in_(in) {
  weight_ = params.declare({.name = name + ".weight",
                            .shape = joined(out, {in}),
                            .tp_dim = split,
                            .init = InitSpec::xavier(in, fan_out),
                            .decay = true});
  params.use_as_matrix(weight_, this->out());
  if (bias) bias_ = params.declare({.name = name + ".bias", .shape = out, .tp_dim = split});
}

void ColumnParallelLinear::forward(Pass& p, const Tensor& x, const Tensor& y, const ops::Epilogue& epilogue) const {
  ops::gemm(p.ctx, {.a = x,
                    .b = weight_->matrix(),
                    .c = y,
                    .trans_b = true,
                    .bias = vector(bias_),
                    .packed_b = weight_->packed_forward,
                    .epilogue = epilogue});
}

void ColumnParallelLinear::backward(Pass& p, const Tensor& d_y, const Tensor& x, const Tensor& d_x,
                                    bool accumulate_d_x) const {
  ops::gemm(
      p.ctx,
      {.a = d_y, .b = weight_->matrix(), .c = d_x, .accumulate = accumulate_d_x, .packed_b = weight_->packed_backward});
  ops::gemm(p.ctx, {.a = d_y,
                    .b = x,
                    .c = matrix(weight_->grad, out()),
                    .trans_a = true,
                    .accumulate = true,
                    .d_bias = vector(bias_, true)});
}

RowParallelLinear::RowParallelLinear(ParamStore& params, const std::string& name, Shape in, int64_t out, bool bias,
                                     double dropout)
    : out_(out), rate_(dropout), purpose_(purpose_of(name + ".dropout")) {
  weight_ = params.declare({.name = name + ".weight",
                            .shape = joined({out}, in),
                            .tp_dim = 1,
                            .init = InitSpec::xavier(in.numel(), out),
                            .decay = true});
  params.use_as_matrix(weight_, out);
  if (bias) bias_ = params.declare({.name = name + ".bias", .shape = {out}});
}

void RowParallelLinear::forward(Pass& p, const Tensor& x, ResidualStream& stream) const {
  ArenaScope scope(p.arena);
  const PartialSum sum(p, stream.sum());
  ops::gemm(p.ctx,
            {.a = x, .b = weight_->matrix(), .c = sum.part(), .trans_b = true, .packed_b = weight_->packed_forward});
  p.tp.all_reduce(p.ctx, sum.part());
  stream.add(p, sum.part(), vector(bias_), dropout(p, x.rows()));
}

void RowParallelLinear::backward(Pass& p, ResidualGradient& d, const Tensor& x, const Tensor& d_x,
                                 const ops::Epilogue& epilogue) const {
  ArenaScope scope(p.arena);
  const Tensor d_sum = d.d_output(p, vector(bias_, true), dropout(p, x.rows()));  // the same on every rank
  ops::gemm(p.ctx,
            {.a = d_sum, .b = weight_->matrix(), .c = d_x, .packed_b = weight_->packed_backward, .epilogue = epilogue});
  ops::gemm(p.ctx, {.a = d_sum, .b = x, .c = matrix(weight_->grad, out_), .trans_a = true, .accumulate = true});
}

}  // namespace weft
