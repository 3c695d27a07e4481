// model/layers/lora.cpp: implements low-rank adapters.
#include "model/layers/lora.h"

#include <cmath>

#include "tensor/ops.h"

namespace weft {
namespace {

Shape with_rank_first(int64_t rank, const Shape& features) {
  Shape s{rank};
  for (int i = 0; i < features.rank(); ++i) s = s.appended(features[i]);
  return s;
}

InitSpec uniform(float bound) { return {ops::Init::Kind::uniform, bound}; }

}  // namespace

LoraAdapter::LoraAdapter(ParamStore& params, const std::string& name, const LoraShape& shape, const LoraConfig& c)
    : a_(params.declare({.name = name + ".lora_a",
                         .shape = with_rank_first(c.rank, shape.in),
                         .tp_dim = shape.in_split < 0 ? -1 : shape.in_split + 1,
                         .init = uniform(1 / std::sqrt(static_cast<float>(shape.in.numel()))),
                         .decay = true,
                         .matrix = true,
                         .adapter = true})),
      b_(params.declare({.name = name + ".lora_b",
                         .shape = shape.out.appended(c.rank),
                         .tp_dim = shape.out_split,
                         .fused = shape.fused,
                         .decay = true,
                         .matrix = true,
                         .adapter = true})),
      rank_(c.rank),
      width_(shape.in.numel()),
      splits_input_(shape.in_split >= 0),
      scale_(static_cast<float>(c.scale())),
      rate_(c.dropout),
      purpose_(purpose_of(name + ".lora.dropout")) {
  params.use_as_matrix(a_, rank_);
  params.use_as_matrix(b_, b_->numel() / rank_);
}

Dropout LoraAdapter::dropout(const Pass& p, int64_t rows) const {
  const int64_t own = a_->numel() / rank_;
  return p.dropout(rate_, purpose_, rows, width_, splits_input_ ? p.tp.rank() * own : 0);
}

Tensor LoraAdapter::reduced(Pass& p, const Tensor& x) const {
  const Dropout dropout = this->dropout(p, x.rows());
  if (dropout.rate <= 0) return x;
  const Tensor y = p.arena.like(x);
  ops::dropout_add_forward(p.ctx, {.x = x, .y = y, .dropout = dropout});
  return y;
}

void LoraAdapter::scale(Pass& p, const Tensor& x) const {
  if (scale_ != 1) ops::scale_add(p.ctx, {.x = x, .y = x, .alpha = scale_});
}

Tensor LoraAdapter::low_rank(Pass& p, const Tensor& x) const {
  const Tensor t = p.arena.tensor({x.rows(), rank_}, x.dtype);
  ops::gemm(p.ctx, {.a = x, .b = a_->weight, .c = t, .trans_b = true});
  scale(p, t);
  return t;
}

void LoraAdapter::add(Pass& p, const Tensor& x, const Tensor& y) const {
  const ArenaScope scope(p.arena);
  const Tensor t = low_rank(p, reduced(p, x));
  ops::gemm(p.ctx, {.a = t, .b = b_->weight, .c = y, .trans_b = true, .accumulate = true});
}

void LoraAdapter::backward(Pass& p, const Tensor& d_y, const Tensor& x, const Tensor& d_x) const {
  const ArenaScope scope(p.arena);
  const Tensor in = reduced(p, x), t = low_rank(p, in);
  if (splits_input_) p.tp.all_reduce(p.ctx, t);
  ops::gemm(p.ctx, {.a = d_y, .b = t, .c = b_->weight_grad(), .trans_a = true, .accumulate = true});
  const Tensor d_t = p.arena.like(t);
  ops::gemm(p.ctx, {.a = d_y, .b = b_->weight, .c = d_t});
  scale(p, d_t);
  if (const Dropout dropout = this->dropout(p, x.rows()); dropout.rate > 0) {
    const Tensor d_in = p.arena.tensor(x.shape, d_x.dtype);
    ops::gemm(p.ctx, {.a = d_t, .b = a_->weight, .c = d_in});
    ops::dropout_backward(p.ctx, {.d_y = d_in, .d_x = d_in, .dropout = dropout});
    ops::add(p.ctx, {.x = d_in, .y = d_x});
  } else {
    ops::gemm(p.ctx, {.a = d_t, .b = a_->weight, .c = d_x, .accumulate = true});
  }
  if (!splits_input_) p.tp.all_reduce(p.ctx, d_t);
  ops::gemm(p.ctx, {.a = d_t, .b = in, .c = a_->weight_grad(), .trans_a = true, .accumulate = true});
}

}  // namespace weft
