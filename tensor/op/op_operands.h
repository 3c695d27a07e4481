// tensor/op/op_operands.h: describes the operands of each op, in the order of ops.h. The argument checks
// (op_checks.cpp), the cost model (op_cost.cpp) and tests use these descriptions.
//
// operands() calls a visitor v once per tensor: v.in(name, tensor, dims, type, rows) if the op reads the tensor,
// v.out(...) if it overwrites the tensor, v.add(...) if it adds to it. A tensor whose name ends in "?" may be empty.
//   dims: one character per dimension. A letter means the same size throughout an op, and a digit means itself.
//   "*" means any shape, which must be the same for all tensors of the op that have "*".
//   type: by default T, the op's storage type, which is the type of its first tensor described as T.
//   rows: the number of rows of a table that the op reads or writes, if not all.
// v.size(letter, value) sets the size of a letter. v.ranges(name, ranges, rows) visits the sentence ranges of the
// tensor `rows`. v.dropout and v.scalars visit the step's values that the op reads.
#pragma once

#include <algorithm>

#include "tensor/op/op_formulas.h"
#include "tensor/op/update_rules.h"
#include "tensor/ops.h"

namespace weft {

enum class OperandType : uint8_t { T, T_or_f32, T_or_i8, any_storage, f32, f64, i32 };

namespace ops {

using enum OperandType;

void operands(auto& v, const Fill& a) { v.out("x", a.x, "*"); }

void operands(auto& v, const Add& a) {
  v.add("y", a.y, "*");
  v.in("x", a.x, "*", T_or_f32);
}

void operands(auto& v, const Cast& a) {
  v.in("x", a.x, "*", any_storage);
  v.out("y", a.y, "*", any_storage);
}

void operands(auto& v, const Gemm& a) {
  v.in("a", a.a, a.trans_a ? "KM" : "MK");
  v.in("b", a.b.matrix, a.trans_b ? "NK" : "KN");
  a.accumulate ? v.add("c", a.c, "MN", T_or_f32) : v.out("c", a.c, "MN", T_or_f32);
  v.in("bias?", a.bias, "N", f32);
  v.in("rounded_bias?", a.rounded_bias, "N", T, /*rows=*/0);
  v.add("d_bias?", a.d_bias, "M", f32);
  if (a.trans_b && !a.b.inference.empty()) v.in("b's copy for inference", a.b.inference, "I", T_or_i8, /*rows=*/0);
  if (!a.b.packed(a.trans_b).empty()) v.in("b's packed form", a.b.packed(a.trans_b), "P", T, /*rows=*/0);
  if (a.epilogue.kind == Epilogue::Kind::activate) v.out("epilogue.saved?", a.epilogue.saved, "*", any_storage);
  if (a.epilogue.kind == Epilogue::Kind::differentiate) v.in("epilogue.saved", a.epilogue.saved, "*", any_storage);
}

void operands(auto& v, const PackWeight& a) {
  v.in("weight", a.weight.matrix, "NK");
  v.out("packed_forward?", a.weight.packed_forward, "F");
  v.out("packed_backward?", a.weight.packed_backward, "B");
  v.out("inference?", a.weight.inference, "I", T_or_i8);
}

void operands(auto& v, const ColumnSum& a) {
  v.in("x", a.x, "RD");
  v.add("y", a.y, "D", f32);
}

void operands(auto& v, const ActivationForward& a) {
  v.in("x", a.x, "RF");
  v.out("y", a.y, "RF");
  v.dropout(a.dropout);
}

void operands(auto& v, const ActivationBackward& a) {
  v.in("d_y", a.d_y, "RF");
  v.out("d_x", a.d_x, "RF");
  a.kind == Activation::relu ? v.in("y (which relu reads)", a.y, "RF") : v.in("x (which all but relu read)", a.x, "RF");
  v.dropout(a.dropout);
}

void operands(auto& v, const GatedActivationForward& a) {
  v.in("gate", a.gate, "RF");
  v.in("value", a.value, "RF");
  v.out("y", a.y, "RF");
  v.dropout(a.dropout);
}

void operands(auto& v, const GatedActivationBackward& a) {
  v.in("gate", a.gate, "RF");
  v.in("value", a.value, "RF");
  v.in("d_y", a.d_y, "RF");
  v.out("d_gate", a.d_gate, "RF");
  v.out("d_value", a.d_value, "RF");
  v.dropout(a.dropout);
}

void operands(auto& v, const DropoutAddForward& a) {
  v.out("y", a.y, "RD");
  v.in("x", a.x, "RD");
  v.in("residual?", a.residual, "RD");
  v.in("bias?", a.bias, "D", f32);
  v.dropout(a.dropout);
}

void operands(auto& v, const DropoutBackward& a) {
  v.in("d_y", a.d_y, "RD");
  v.out("d_x", a.d_x, "RD");
  v.dropout(a.dropout);
}

void operands(auto& v, const NormForward& a) {
  v.in("x", a.x, "RD");
  v.in("gamma", a.gamma, "D", f32);
  if (formula_of(a.kind).has_beta) v.in("beta", a.beta, "D", f32);
  v.out("y", a.y, "RD");
  if (formula_of(a.kind).centred) v.out("mean", a.mean, "R", f32);
  v.out("rstd", a.rstd, "R", f32);
}

void operands(auto& v, const NormBackward& a) {
  v.size('P', kNormPartials);
  v.in("x", a.x, "RD");
  v.in("d_y", a.d_y, "RD");
  v.in("gamma", a.gamma, "D", f32);
  if (formula_of(a.kind).centred) v.in("mean", a.mean, "R", f32);
  v.in("rstd", a.rstd, "R", f32);
  v.in("d_residual?", a.d_residual, "RD");
  v.out("d_x", a.d_x, "RD");
  if (a.sums_later) return v.out("partial", a.partial, "P2D", f32);
  v.add("d_gamma", a.d_gamma, "D", f32);
  if (formula_of(a.kind).has_beta) v.add("d_beta", a.d_beta, "D", f32);
  v.scratch_memory("partial", a.partial, "P2D");
}

void operands(auto& v, const ResidualNormForward& a) {
  v.out("h", a.h, "RD");
  v.in("x", a.x, "RD");
  v.in("residual", a.residual, "RD");
  v.in("bias?", a.bias, "D", f32);
  v.in("gamma", a.gamma, "D", f32);
  if (formula_of(a.kind).has_beta) v.in("beta", a.beta, "D", f32);
  v.out("y", a.y, "RD");
  if (formula_of(a.kind).centred) v.out("mean", a.mean, "R", f32);
  v.out("rstd", a.rstd, "R", f32);
  v.dropout(a.dropout);
}

void operands(auto& v, const ResidualNormBackward& a) {
  v.size('P', kNormPartials);
  v.in("h", a.h, "RD");
  v.in("d_y", a.d_y, "RD");
  v.in("gamma", a.gamma, "D", f32);
  if (formula_of(a.kind).centred) v.in("mean", a.mean, "R", f32);
  v.in("rstd", a.rstd, "R", f32);
  v.in("d_residual?", a.d_residual, "RD");
  v.out("d_h", a.d_h, "RD");
  v.out("d_x", a.d_x, "RD");
  v.dropout(a.dropout);
  if (a.sums_later) return v.out("partial", a.partial, "P3D", f32);
  v.add("d_gamma", a.d_gamma, "D", f32);
  if (formula_of(a.kind).has_beta) v.add("d_beta", a.d_beta, "D", f32);
  v.add("d_bias?", a.d_bias, "D", f32);
  v.scratch_memory("partial", a.partial, "P3D");
}

void operands(auto& v, const NormSums& a) {
  v.size('P', kNormPartials);
  for (const NormSums::Norm& norm : a.norms) {
    if (norm.partial.empty()) continue;
    v.in("partial", norm.partial, norm.partial.dim(1) == 2 ? "P2D" : "P3D", f32);
    v.add("d_gamma", norm.d_gamma, "D", f32);
    v.add("d_beta?", norm.d_beta, "D", f32);
    v.add("d_bias?", norm.d_bias, "D", f32);
  }
}

void operands(auto& v, const EmbeddingForward& a) {
  v.in("ids", a.ids, "R", i32);
  v.in("table", a.table, "VD", T, /*rows=*/a.ids.numel());
  v.out("y", a.y, "RD");
  v.dropout(a.cut);
}

void operands(auto& v, const EmbeddingBackward& a) {
  v.in("sorted.ids", a.sorted.ids, "R", i32);
  v.in("sorted.rows", a.sorted.rows, "R", i32);
  v.in("d_y", a.d_y, "RD");
  v.add("d_table", a.d_table, "VD", f32, /*rows=*/a.sorted.ids.numel());
  v.dropout(a.cut);
}

void operands(auto& v, const AddPositions& a) {
  v.out("y", a.y, "RD");
  v.in("x", a.x, "RD");
  v.in("positions", a.positions, "R", i32);
  v.in("table", a.table, "PD", f32, /*rows=*/a.positions.numel());
  v.dropout(a.dropout);
}

void operands(auto& v, const Rotary& a) {
  v.in("x", a.x, "RD");
  v.in("positions", a.positions, "R", i32);
  v.in("table", a.table, "PK", f32, /*rows=*/a.positions.numel());
  v.out("y", a.y, "RD");
}

void operands(auto& v, const AttentionForward& a) {
  v.size('N', a.heads);
  v.in("q", a.q, "QD");
  v.size('E', a.q.cols() / group_size(a));
  v.in("k", a.k, "KE");
  v.in("v", a.v, "KE");
  v.ranges("q_rows", a.q_rows, a.q);
  v.ranges("k_rows", a.k_rows, a.k);
  v.out("y", a.y, "QD");
  v.out("lse?", a.lse, "NQ", f32);
  v.dropout(a.dropout);
}

void operands(auto& v, const AttentionBackward& a) {
  v.size('N', a.heads);
  v.in("q", a.q, "QD");
  v.size('E', a.q.cols() / group_size(a));
  v.in("k", a.k, "KE");
  v.in("v", a.v, "KE");
  v.ranges("q_rows", a.q_rows, a.q);
  v.ranges("k_rows", a.k_rows, a.k);
  v.in("y", a.y, "QD");
  v.in("lse", a.lse, "NQ", f32);
  v.in("d_y", a.d_y, "QD");
  v.out("d_q", a.d_q, "QD");
  v.out("d_k", a.d_k, "KE");
  v.out("d_v", a.d_v, "KE");
  v.dropout(a.dropout);
}

void operands(auto& v, const AttentionWeights& a) {
  v.size('N', a.heads);
  v.in("q", a.q, "QD");
  v.size('E', a.q.cols() / group_size(a));
  v.in("k", a.k, "KE");
  v.ranges("q_rows", a.q_rows, a.q);
  v.ranges("k_rows", a.k_rows, a.k);
  v.in("lse", a.lse, "NQ", f32);
  v.add("y", a.y, "QW", f32);
}

void operands(auto& v, const SoftmaxStats& a) {
  v.in("logits", a.logits, "RV");
  v.in("targets?", a.targets, "R", i32);
  v.out("stats", a.stats, "R4", f32);
}

void operands(auto& v, const CrossEntropy& a) {
  a.backward ? v.add("logits", a.logits, "RV") : v.in("logits", a.logits, "RV");
  v.in("targets", a.targets, "R", i32);
  v.in("weights?", a.weights, "R", f32);
  v.in("stats?", a.stats, "GR4", f32);
  v.out("loss", a.loss, "R", f32);
  v.out("nll", a.nll, "R", f32);
  if (a.backward || a.scalars != nullptr) v.scalars(a.scalars);
}

void operands(auto& v, const ConsistencyStats& a) {
  v.in("logits_p", a.logits_p, "RV");
  v.in("logits_q", a.logits_q, "RV");
  v.in("targets", a.targets, "R", i32);
  v.size('S', kPairStats);
  v.out("stats", a.stats, "RS", f32);
}

void operands(auto& v, const ConsistencyLoss& a) {
  v.add("logits_p", a.logits_p, "RV");
  v.add("logits_q", a.logits_q, "RV");
  v.in("targets", a.targets, "R", i32);
  v.in("weights?", a.weights, "R", f32);
  v.size('S', kPairStats);
  v.in("stats", a.stats, "GRS", f32);
  v.out("loss", a.loss, "R", f32);
  v.out("nll", a.nll, "R", f32);
  v.out("divergence", a.divergence, "R", f32);
  v.scalars(a.scalars);
}

void operands(auto& v, const Sum& a) {
  v.in("x", a.x, "*", f32);
  v.add("y", a.y, "1", f64);
}

void operands(auto& v, const SumSquares& a) {
  v.in("x", a.x, "*", f32);
  v.add("y", a.y, "1", f64);
}

void operands(auto& v, const Update& a) {
  v.add("param", a.param, "*", f32);
  v.in("grad", a.grad, "*", f32);
  if (num_moments(a.rule) > 0) v.add("first", a.first, "*", f32);
  if (num_moments(a.rule) > 1) v.add("second", a.second, "*", f32);
  v.out("copy?", a.copy, "*", any_storage);
  v.add("average?", a.average, "*", f32);
  v.scalars(a.scalars);
}

void operands(auto& v, const ScaleAdd& a) {
  v.in("x", a.x, "*", any_storage);
  a.beta != 0 ? v.add("y", a.y, "*", any_storage) : v.out("y", a.y, "*", any_storage);
  v.in("norm_square?", a.norm_square, "1", f64);
}

void operands(auto& v, const MuonMomentum& a) {
  v.add("grad", a.grad, "*", f32);
  v.add("m", a.m, "*", f32);
  v.scalars(a.scalars);
}

void operands(auto& v, const Init& a) { v.out("x", a.x, "*", f32); }

void operands(auto& v, const GatherRows& a) {
  v.in("rows", a.rows, "M", i32);
  v.in("x", a.x, "NW", T, /*rows=*/a.rows.numel());
  v.out("y", a.y, "MW");
}

void operands(auto& v, const ScatterRows& a) {
  v.in("rows", a.rows, "M", i32);
  v.in("x", a.x, "MW");
  v.out("y", a.y, "NW", T, /*rows=*/a.rows.numel());
}

void operands(auto& v, const TopK& a) {
  v.in("x", a.x, "RV");
  v.out("values", a.values, "Rk", f32);
  v.out("columns", a.columns, "Rk", i32);
  v.in("classes?", a.classes, "V", i32);
  v.in("allowed?", a.allowed, "R", i32);
}

}  // namespace ops
}  // namespace weft
