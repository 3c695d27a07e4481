// tests/tensor/op_tensors.h: what an op's arguments point to: its tensors, and the states of its step.
#pragma once

#include <vector>

#include "tensor/ops.h"

namespace weft::testing {

using OpTensors = std::vector<Tensor*>;

inline OpTensors tensors(ops::Fill& a) { return {&a.x}; }
inline OpTensors tensors(ops::Add& a) { return {&a.x, &a.y}; }
inline OpTensors tensors(ops::Cast& a) { return {&a.x, &a.y}; }
inline OpTensors tensors(ops::Gemm& a) {
  return {&a.a, &a.b, &a.c, &a.bias, &a.packed_b, &a.epilogue.saved, &a.d_bias};
}
inline OpTensors tensors(ops::PackWeight& a) { return {&a.b, &a.packed}; }
inline OpTensors tensors(ops::ColumnSum& a) { return {&a.x, &a.y}; }
inline OpTensors tensors(ops::ActivationForward& a) { return {&a.x, &a.y}; }
inline OpTensors tensors(ops::ActivationBackward& a) { return {&a.x, &a.y, &a.d_y, &a.d_x}; }
inline OpTensors tensors(ops::DropoutAddForward& a) { return {&a.residual, &a.x, &a.bias, &a.y}; }
inline OpTensors tensors(ops::DropoutBackward& a) { return {&a.d_y, &a.d_x}; }
inline OpTensors tensors(ops::LayerNormForward& a) { return {&a.x, &a.gamma, &a.beta, &a.y, &a.mean, &a.rstd}; }
inline OpTensors tensors(ops::LayerNormBackward& a) {
  return {&a.d_y, &a.x, &a.gamma, &a.mean, &a.rstd, &a.d_residual, &a.d_x, &a.d_gamma, &a.d_beta, &a.partial};
}
inline OpTensors tensors(ops::ResidualNormForward& a) {
  return {&a.residual, &a.x, &a.bias, &a.gamma, &a.beta, &a.h, &a.y, &a.mean, &a.rstd};
}
inline OpTensors tensors(ops::ResidualNormBackward& a) {
  return {&a.d_y, &a.h,   &a.gamma,   &a.mean,   &a.rstd,   &a.d_residual,
          &a.d_h, &a.d_x, &a.d_gamma, &a.d_beta, &a.d_bias, &a.partial};
}
inline OpTensors tensors(ops::EmbeddingForward& a) { return {&a.ids, &a.table, &a.y}; }
inline OpTensors tensors(ops::EmbeddingBackward& a) { return {&a.ids, &a.d_y, &a.d_table}; }
inline OpTensors tensors(ops::AddPositions& a) { return {&a.x, &a.positions, &a.table, &a.y}; }
inline OpTensors tensors(ops::AttentionForward& a) {
  return {&a.q, &a.k, &a.v, &a.q_rows.begin, &a.q_rows.end, &a.k_rows.begin, &a.k_rows.end, &a.y, &a.lse};
}
inline OpTensors tensors(ops::AttentionBackward& a) {
  return {&a.q, &a.k,   &a.v,   &a.q_rows.begin, &a.q_rows.end, &a.k_rows.begin, &a.k_rows.end,
          &a.y, &a.lse, &a.d_y, &a.d_q,          &a.d_k,        &a.d_v};
}
inline OpTensors tensors(ops::AttentionWeights& a) {
  return {&a.q, &a.k, &a.q_rows.begin, &a.q_rows.end, &a.k_rows.begin, &a.k_rows.end, &a.lse, &a.y};
}
inline OpTensors tensors(ops::SoftmaxStats& a) { return {&a.logits, &a.targets, &a.stats}; }
inline OpTensors tensors(ops::CrossEntropy& a) { return {&a.logits, &a.targets, &a.stats, &a.loss, &a.nll}; }
inline OpTensors tensors(ops::Sum& a) { return {&a.x, &a.y}; }
inline OpTensors tensors(ops::SumSquares& a) { return {&a.x, &a.y}; }
inline OpTensors tensors(ops::Adam& a) { return {&a.param, &a.grad, &a.m, &a.v, &a.copy}; }
inline OpTensors tensors(ops::Init& a) { return {&a.x}; }
inline OpTensors tensors(ops::GatherRows& a) { return {&a.x, &a.rows, &a.y}; }
inline OpTensors tensors(ops::ScatterRows& a) { return {&a.x, &a.rows, &a.y}; }
inline OpTensors tensors(ops::TopK& a) { return {&a.x, &a.values, &a.columns}; }

template <typename Arguments>
std::vector<const StepState**> states(Arguments& a) {
  std::vector<const StepState**> all;
  if constexpr (requires { a.state; }) all.push_back(&a.state);
  if constexpr (requires { a.dropout; }) all.push_back(&a.dropout.state);
  return all;
}

// The bytes from a tensor's first element to its last: of a column slice those between its rows too.
inline size_t extent(const Tensor& t) {
  if (t.numel() == 0) return 0;
  const int64_t elements = t.rank() == 2 ? (t.rows() - 1) * t.row_stride + t.cols() : t.numel();
  return static_cast<size_t>(elements) * size_of(t.dtype);
}

}  // namespace weft::testing
