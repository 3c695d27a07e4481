// tensor/op_cost.cpp: the bytes of each op's operands, in the order of ops.h.
#include "tensor/op_cost.h"

#include <algorithm>
#include <initializer_list>

#include "tensor/transfer.h"

namespace weft {
namespace {

OpCost moved(std::initializer_list<Tensor> tensors, double flops = 0) {
  OpCost cost{.flops = flops};
  for (const Tensor& t : tensors) cost.bytes += static_cast<double>(t.bytes());
  return cost;
}

Tensor rows_of(const Tensor& table, int64_t count) { return table.slice_rows(0, std::min(count, table.rows())); }

// Pairs of a query and a key that it sees.
double num_pairs(Context& ctx, const ops::SequenceRanges& queries, const ops::SequenceRanges& keys, bool causal) {
  const auto lengths = [&](const ops::SequenceRanges& s) {
    std::vector<int32_t> length = to_host<int32_t>(ctx, s.end);
    const std::vector<int32_t> begin = to_host<int32_t>(ctx, s.begin);
    for (size_t i = 0; i < length.size(); ++i) length[i] -= begin[i];
    return length;
  };
  const std::vector<int32_t> q = lengths(queries), k = lengths(keys);
  double pairs = 0;
  for (size_t i = 0; i < q.size(); ++i) pairs += causal ? 0.5 * q[i] * (q[i] + 1) : 1.0 * q[i] * k[i];
  return pairs;
}

}  // namespace

OpCost cost_of(Context&, const ops::Fill& a) { return moved({a.x}); }
OpCost cost_of(Context&, const ops::Add& a) { return moved({a.x, a.y, a.y}); }
OpCost cost_of(Context&, const ops::Cast& a) { return moved({a.x, a.y}); }

OpCost cost_of(Context&, const ops::Gemm& a) {
  const int64_t inner = a.trans_a ? a.a.rows() : a.a.cols();
  return moved({a.a, a.b, a.c, a.accumulate ? a.c : Tensor{}, a.bias, a.epilogue.saved, a.d_bias, a.d_bias},
               2.0 * static_cast<double>(a.c.numel()) * static_cast<double>(inner));
}

OpCost cost_of(Context&, const ops::PackWeight& a) { return moved({a.b, a.packed}); }
OpCost cost_of(Context&, const ops::ColumnSum& a) { return moved({a.x, a.y, a.y}); }
OpCost cost_of(Context&, const ops::ActivationForward& a) { return moved({a.x, a.y}); }
OpCost cost_of(Context&, const ops::ActivationBackward& a) {
  return moved({a.kind == Activation::relu ? a.y : a.x, a.d_y, a.d_x});
}
OpCost cost_of(Context&, const ops::DropoutAddForward& a) { return moved({a.residual, a.x, a.bias, a.y}); }
OpCost cost_of(Context&, const ops::DropoutBackward& a) { return moved({a.d_y, a.d_x}); }

OpCost cost_of(Context&, const ops::LayerNormForward& a) { return moved({a.x, a.gamma, a.beta, a.y, a.mean, a.rstd}); }
OpCost cost_of(Context&, const ops::LayerNormBackward& a) {
  return moved({a.d_y, a.x, a.gamma, a.mean, a.rstd, a.d_residual, a.d_x, a.d_gamma, a.d_gamma, a.d_beta, a.d_beta});
}
OpCost cost_of(Context&, const ops::ResidualNormForward& a) {
  return moved({a.residual, a.x, a.bias, a.gamma, a.beta, a.h, a.y, a.mean, a.rstd});
}
OpCost cost_of(Context&, const ops::ResidualNormBackward& a) {
  const Tensor d_x = a.d_x.data == a.d_h.data ? Tensor{} : a.d_x;
  return moved({a.d_y, a.h, a.gamma, a.mean, a.rstd, a.d_residual, a.d_h, d_x, a.d_gamma, a.d_gamma, a.d_beta, a.d_beta,
                a.d_bias, a.d_bias});
}

OpCost cost_of(Context&, const ops::EmbeddingForward& a) {
  return moved({a.ids, rows_of(a.table, a.ids.numel()), a.y});
}
OpCost cost_of(Context&, const ops::EmbeddingBackward& a) {
  const Tensor rows = rows_of(a.d_table, a.ids.numel());
  return moved({a.ids, a.d_y, rows, rows});
}
OpCost cost_of(Context&, const ops::AddPositions& a) {
  return moved({a.x, a.positions, rows_of(a.table, a.positions.numel()), a.y});
}

// A head does 2 K operations a pair for its score and as many for the values; backward has five such products.
OpCost cost_of(Context& ctx, const ops::AttentionForward& a) {
  return moved({a.q, a.k, a.v, a.y, a.lse},
               4 * num_pairs(ctx, a.q_rows, a.k_rows, a.causal) * static_cast<double>(a.q.cols()));
}
OpCost cost_of(Context& ctx, const ops::AttentionBackward& a) {
  return moved({a.q, a.k, a.v, a.y, a.lse, a.d_y, a.d_q, a.d_k, a.d_v},
               10 * num_pairs(ctx, a.q_rows, a.k_rows, a.causal) * static_cast<double>(a.q.cols()));
}
OpCost cost_of(Context& ctx, const ops::AttentionWeights& a) {
  const double width = static_cast<double>(a.q.cols() / a.heads * a.num_heads);
  return moved({a.q, a.k, a.lse, a.y, a.y}, 2 * num_pairs(ctx, a.q_rows, a.k_rows, /*causal=*/false) * width);
}

OpCost cost_of(Context&, const ops::SoftmaxStats& a) { return moved({a.logits, a.targets, a.stats}); }
OpCost cost_of(Context&, const ops::CrossEntropy& a) {
  return moved({a.logits, a.backward ? a.logits : Tensor{}, a.targets, a.stats, a.loss, a.nll});
}
OpCost cost_of(Context&, const ops::Sum& a) { return moved({a.x}); }
OpCost cost_of(Context&, const ops::SumSquares& a) { return moved({a.x}); }
OpCost cost_of(Context&, const ops::Adam& a) { return moved({a.param, a.param, a.grad, a.m, a.m, a.v, a.v, a.copy}); }
OpCost cost_of(Context&, const ops::Init& a) { return moved({a.x}); }
OpCost cost_of(Context&, const ops::GatherRows& a) { return moved({a.y, a.rows, a.y}); }
OpCost cost_of(Context&, const ops::ScatterRows& a) { return moved({a.x, a.rows, a.x}); }
OpCost cost_of(Context&, const ops::TopK& a) { return moved({a.x, a.values, a.columns}); }

}  // namespace weft
