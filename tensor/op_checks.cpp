// tensor/op_checks.cpp: what each op's arguments must be, in the order of ops.h.
#include "tensor/op_checks.h"

#include "tensor/error.h"

namespace weft::ops {

namespace {

// Refuses with "op: name is f32 [3, 4] ..., expected ...". The message is built only on failure.
class Checker {
 public:
  Checker(const Context& ctx, const char* op) : ctx_(ctx), op_(op) {}

  void require_tensor(const Tensor& t, const char* name, DType dtype = DType::f32) const {
    if (t.empty()) fail_op(fmt::format("{} is missing", name));
    if (t.dtype != dtype) fail_op(fmt::format("{} is {}, expected {}", name, name_of(t.dtype), name_of(dtype)));
    if (t.device != ctx_.device()) fail_op(fmt::format("{} lies on another device", name));
    if (t.data == nullptr && t.numel() > 0 && !ctx_.dry_run()) fail_op(fmt::format("{} has no memory", name));
  }
  void require_contiguous(const Tensor& t, const char* name, DType dtype = DType::f32) const {
    require_tensor(t, name, dtype);
    if (!t.contiguous()) fail_op(fmt::format("{} is a column slice, expected contiguous rows", name));
  }
  void require_shape(const Tensor& t, const char* name, Shape shape, DType dtype = DType::f32) const {
    require_tensor(t, name, dtype);
    if (t.shape != shape) fail_op(fmt::format("{} is {}, expected {}", name, t.shape.str(), shape.str()));
    if (t.rank() != 2) require_contiguous(t, name, dtype);
  }
  void require_matrix(const Tensor& t, const char* name, DType dtype = DType::f32) const {
    require_tensor(t, name, dtype);
    if (t.rank() != 2) fail_op(fmt::format("{} is {}, expected a matrix", name, t.shape.str()));
  }
  // The storage type of values: f32, bf16 or f16.
  DType storage_of(const Tensor& t, const char* name) const {
    if (t.empty()) fail_op(fmt::format("{} is missing", name));
    if (t.dtype != DType::f32 && t.dtype != DType::bf16 && t.dtype != DType::f16)
      fail_op(fmt::format("{} is {}, expected f32, bf16 or f16", name, name_of(t.dtype)));
    return t.dtype;
  }
  // f32, where partial sums are kept, or `storage`.
  DType sum_or(DType storage, const Tensor& t) const { return t.dtype == DType::f32 ? DType::f32 : storage; }
  void require_dropout(const Dropout& d) const {
    require_state(d.state);
    if (!(d.rate >= 0 && d.rate < 1)) fail_op(fmt::format("dropout rate {} is not in [0, 1)", d.rate));
  }
  void require_state(const StepState* state) const {
    if (state != nullptr && ctx_.device() == Device::cpu) fail_op("a step's state is for GPUs alone");
  }
  void require_that(bool ok, const char* message) const {
    if (!ok) fail_op(message);
  }
  // Both ends of B sentences; their rows lie within `rows` (seen only where there is memory).
  void require_ranges(const SequenceRanges& s, const char* name, int64_t sentences, int64_t rows) const {
    require_shape(s.begin, name, {sentences}, DType::i32);
    require_shape(s.end, name, {sentences}, DType::i32);
    if (s.longest > 0) require_longest(s, name, s.longest);
    if (ctx_.dry_run() || ctx_.device() != Device::cpu) return;
    for (int64_t i = 0; i < sentences; ++i) {
      const int32_t begin = s.begin.ptr<int32_t>()[i], end = s.end.ptr<int32_t>()[i];
      if (begin < 0 || begin > end || end > rows) {
        fail_op(fmt::format("{}: sentence {} has rows {} to {} of {}", name, i, begin, end, rows));
      }
    }
  }
  // No sentence has more than `most` rows (seen only where there is memory).
  void require_longest(const SequenceRanges& s, const char* name, int64_t most) const {
    if (ctx_.dry_run() || ctx_.device() != Device::cpu) return;
    for (int64_t i = 0; i < s.begin.numel(); ++i) {
      const int32_t rows = s.end.ptr<int32_t>()[i] - s.begin.ptr<int32_t>()[i];
      if (rows > most) fail_op(fmt::format("{}: sentence {} has {} rows, more than {}", name, i, rows, most));
    }
  }

 private:
  [[noreturn]] void fail_op(const std::string& message) const {
    fail(ErrorKind::internal, fmt::format("{}: {}", op_, message));
  }
  const Context& ctx_;
  const char* op_;
};

void check(const Checker& c, const Fill& a) { c.require_tensor(a.x, "x", c.storage_of(a.x, "x")); }

void check(const Checker& c, const Add& a) {
  const DType t = c.storage_of(a.x, "x");
  c.require_tensor(a.x, "x", t);
  c.require_shape(a.y, "y", a.x.shape, t);
}

void check(const Checker& c, const Cast& a) {
  c.require_tensor(a.x, "x", c.storage_of(a.x, "x"));
  c.require_shape(a.y, "y", a.x.shape, c.storage_of(a.y, "y"));
}

void check_epilogue(const Checker& c, const Gemm& a) {
  using Kind = Epilogue::Kind;
  const Epilogue& e = a.epilogue;
  if (e.kind == Kind::none) return;
  c.require_that(!a.accumulate, "an activation of a sum that is accumulated");
  c.require_that(e.kind == Kind::activate || a.bias.empty(), "a gradient with a bias");
  if (e.kind == Kind::activate && e.saved.empty()) return;
  const int64_t numel = saved_numel(a.c.device, e.activation, a.c.dtype, a.c.rows(), a.c.cols());
  c.require_shape(e.saved, "epilogue.saved", numel > 0 ? Shape{numel} : a.c.shape, a.c.dtype);
}

void check(const Checker& c, const Gemm& a) {
  const DType t = c.storage_of(a.a, "a");
  c.require_matrix(a.a, "a", t);
  c.require_matrix(a.b, "b", t);
  const int64_t m = a.trans_a ? a.a.cols() : a.a.rows(), k = a.trans_a ? a.a.rows() : a.a.cols();
  const int64_t n = a.trans_b ? a.b.rows() : a.b.cols();
  c.require_shape(a.b, "b", a.trans_b ? Shape{n, k} : Shape{k, n}, t);
  c.require_shape(a.c, "c", {m, n}, c.sum_or(t, a.c));
  c.require_that(k > 0, "the inner dimension is 0");
  if (!a.bias.empty()) c.require_shape(a.bias, "bias", {n});
  if (!a.packed_b.empty()) c.require_shape(a.packed_b, "packed_b", {packed_numel(a.b.device, t, k, n)}, t);
  check_epilogue(c, a);
  if (a.d_bias.empty()) return;
  c.require_shape(a.d_bias, "d_bias", {m});
  c.require_that(a.trans_a && a.c.dtype == DType::f32 && a.bias.empty() && a.epilogue.kind == Epilogue::Kind::none,
                 "d_bias goes with a weight's gradient alone");
}

void check(const Checker& c, const PackWeight& a) {
  const DType t = c.storage_of(a.b, "b");
  c.require_matrix(a.b, "b", t);
  const int64_t k = a.trans_b ? a.b.cols() : a.b.rows(), n = a.trans_b ? a.b.rows() : a.b.cols();
  c.require_shape(a.packed, "packed", {packed_numel(a.b.device, t, k, n)}, t);
}

void check(const Checker& c, const ColumnSum& a) {
  c.require_matrix(a.x, "x", c.storage_of(a.x, "x"));
  c.require_shape(a.y, "y", {a.x.cols()});
}

void check(const Checker& c, const ActivationForward& a) {
  const DType t = c.storage_of(a.x, "x");
  c.require_matrix(a.x, "x", t);
  c.require_shape(a.y, "y", a.x.shape, t);
  c.require_dropout(a.dropout);
}

void check(const Checker& c, const ActivationBackward& a) {
  const DType t = c.storage_of(a.d_y, "d_y");
  c.require_matrix(a.d_y, "d_y", t);
  c.require_shape(a.d_x, "d_x", a.d_y.shape, t);
  if (a.kind == Activation::relu) {
    c.require_shape(a.y, "y (which relu reads)", a.d_y.shape, t);
  } else {
    c.require_shape(a.x, "x (which gelu reads)", a.d_y.shape, t);
  }
  c.require_dropout(a.dropout);
}

void check(const Checker& c, const DropoutAddForward& a) {
  const DType t = c.storage_of(a.y, "y");
  c.require_matrix(a.x, "x", c.sum_or(t, a.x));
  if (!a.residual.empty()) c.require_shape(a.residual, "residual", a.x.shape, t);
  if (!a.bias.empty()) c.require_shape(a.bias, "bias", {a.x.cols()});
  c.require_shape(a.y, "y", a.x.shape, t);
  c.require_dropout(a.dropout);
}

void check(const Checker& c, const DropoutBackward& a) {
  const DType t = c.storage_of(a.d_y, "d_y");
  c.require_matrix(a.d_y, "d_y", t);
  c.require_shape(a.d_x, "d_x", a.d_y.shape, t);
  c.require_dropout(a.dropout);
}

void check(const Checker& c, const LayerNormForward& a) {
  const DType t = c.storage_of(a.x, "x");
  c.require_matrix(a.x, "x", t);
  c.require_shape(a.gamma, "gamma", {a.x.cols()});
  c.require_shape(a.beta, "beta", {a.x.cols()});
  c.require_shape(a.y, "y", a.x.shape, t);
  c.require_shape(a.mean, "mean", {a.x.rows()});
  c.require_shape(a.rstd, "rstd", {a.x.rows()});
}

void check(const Checker& c, const LayerNormBackward& a) {
  const DType t = c.storage_of(a.x, "x");
  c.require_matrix(a.x, "x", t);
  const int64_t rows = a.x.rows(), width = a.x.cols();
  c.require_shape(a.d_y, "d_y", a.x.shape, t);
  c.require_shape(a.gamma, "gamma", {width});
  c.require_shape(a.mean, "mean", {rows});
  c.require_shape(a.rstd, "rstd", {rows});
  if (!a.d_residual.empty()) c.require_shape(a.d_residual, "d_residual", a.x.shape, t);
  c.require_shape(a.d_x, "d_x", a.x.shape, t);
  c.require_shape(a.d_gamma, "d_gamma", {width});
  c.require_shape(a.d_beta, "d_beta", {width});
  c.require_shape(a.partial, "partial", {kLayerNormPartials, 2, width});
}

void check(const Checker& c, const ResidualNormForward& a) {
  const DType t = c.storage_of(a.h, "h");
  c.require_matrix(a.x, "x", c.sum_or(t, a.x));
  const int64_t rows = a.x.rows(), width = a.x.cols();
  c.require_shape(a.residual, "residual", a.x.shape, t);
  if (!a.bias.empty()) c.require_shape(a.bias, "bias", {width});
  c.require_shape(a.gamma, "gamma", {width});
  c.require_shape(a.beta, "beta", {width});
  c.require_shape(a.h, "h", a.x.shape, t);
  c.require_shape(a.y, "y", a.x.shape, t);
  c.require_shape(a.mean, "mean", {rows});
  c.require_shape(a.rstd, "rstd", {rows});
  c.require_dropout(a.dropout);
}

void check(const Checker& c, const ResidualNormBackward& a) {
  const DType t = c.storage_of(a.h, "h");
  c.require_matrix(a.h, "h", t);
  const int64_t rows = a.h.rows(), width = a.h.cols();
  c.require_shape(a.d_y, "d_y", a.h.shape, t);
  c.require_shape(a.gamma, "gamma", {width});
  c.require_shape(a.mean, "mean", {rows});
  c.require_shape(a.rstd, "rstd", {rows});
  if (!a.d_residual.empty()) c.require_shape(a.d_residual, "d_residual", a.h.shape, t);
  c.require_shape(a.d_h, "d_h", a.h.shape, t);
  c.require_shape(a.d_x, "d_x", a.h.shape, t);
  c.require_shape(a.d_gamma, "d_gamma", {width});
  c.require_shape(a.d_beta, "d_beta", {width});
  if (!a.d_bias.empty()) c.require_shape(a.d_bias, "d_bias", {width});
  c.require_shape(a.partial, "partial", {kLayerNormPartials, 3, width});
  c.require_dropout(a.dropout);
  c.require_that(a.dropout.rate <= 0 || a.d_x.data == nullptr || a.d_x.data != a.d_h.data,
                 "d_x is d_h, but there is dropout between them");
}

void check(const Checker& c, const EmbeddingForward& a) {
  c.require_matrix(a.table, "table", c.storage_of(a.table, "table"));
  c.require_tensor(a.ids, "ids", DType::i32);
  c.require_shape(a.ids, "ids", {a.ids.numel()}, DType::i32);
  c.require_shape(a.y, "y", {a.ids.numel(), a.table.cols()}, c.storage_of(a.y, "y"));
}

void check(const Checker& c, const EmbeddingBackward& a) {
  c.require_matrix(a.d_table, "d_table");
  c.require_tensor(a.ids, "ids", DType::i32);
  c.require_shape(a.ids, "ids", {a.ids.numel()}, DType::i32);
  c.require_shape(a.d_y, "d_y", {a.ids.numel(), a.d_table.cols()}, c.storage_of(a.d_y, "d_y"));
}

void check(const Checker& c, const AddPositions& a) {
  const DType t = c.storage_of(a.y, "y");
  c.require_matrix(a.x, "x", c.sum_or(t, a.x));
  c.require_matrix(a.table, "table");
  c.require_shape(a.positions, "positions", {a.x.rows()}, DType::i32);
  c.require_shape(a.table, "table", {a.table.rows(), a.x.cols()});
  c.require_shape(a.y, "y", a.x.shape, t);
  c.require_dropout(a.dropout);
}

// What forward and backward of attention have in common.
template <typename A>
DType check_attention(const Checker& c, const A& a) {
  const DType t = c.storage_of(a.q, "q");
  c.require_matrix(a.q, "q", t);
  c.require_matrix(a.k, "k", t);
  c.require_shape(a.k, "k", {a.k.rows(), a.q.cols()}, t);
  c.require_shape(a.v, "v", a.k.shape, t);
  c.require_that(a.heads > 0 && a.q.cols() % a.heads == 0, "the width does not divide by the heads");
  c.require_ranges(a.q_rows, "q_rows", a.q_rows.begin.numel(), a.q.rows());
  c.require_ranges(a.k_rows, "k_rows", a.q_rows.begin.numel(), a.k.rows());
  c.require_shape(a.y, "y", a.q.shape, t);
  c.require_dropout(a.dropout);
  return t;
}

void check(const Checker& c, const AttentionForward& a) {
  check_attention(c, a);
  if (!a.lse.empty()) c.require_shape(a.lse, "lse", {a.heads, a.q.rows()});
}

void check(const Checker& c, const AttentionBackward& a) {
  const DType t = check_attention(c, a);
  c.require_shape(a.lse, "lse", {a.heads, a.q.rows()});
  c.require_shape(a.d_y, "d_y", a.q.shape, t);
  c.require_shape(a.d_q, "d_q", a.q.shape, t);
  c.require_shape(a.d_k, "d_k", a.k.shape, t);
  c.require_shape(a.d_v, "d_v", a.k.shape, t);
}

void check(const Checker& c, const AttentionWeights& a) {
  const DType t = c.storage_of(a.q, "q");
  c.require_matrix(a.q, "q", t);
  c.require_matrix(a.k, "k", t);
  c.require_shape(a.k, "k", {a.k.rows(), a.q.cols()}, t);
  c.require_that(a.heads > 0 && a.q.cols() % a.heads == 0, "the width does not divide by the heads");
  c.require_that(a.first_head >= 0 && a.num_heads >= 0 && a.first_head + a.num_heads <= a.heads,
                 "the chosen heads are not among this rank's");
  c.require_matrix(a.y, "y");
  c.require_shape(a.y, "y", {a.q.rows(), a.y.cols()});
  c.require_ranges(a.q_rows, "q_rows", a.q_rows.begin.numel(), a.q.rows());
  c.require_ranges(a.k_rows, "k_rows", a.q_rows.begin.numel(), a.k.rows());
  c.require_longest(a.k_rows, "k_rows", a.y.cols());
  c.require_shape(a.lse, "lse", {a.heads, a.q.rows()});
}

void check(const Checker& c, const SoftmaxStats& a) {
  c.require_matrix(a.logits, "logits", c.storage_of(a.logits, "logits"));
  if (!a.targets.empty()) c.require_shape(a.targets, "targets", {a.logits.rows()}, DType::i32);
  c.require_shape(a.stats, "stats", {a.logits.rows(), 4});
  c.require_contiguous(a.stats, "stats");
  c.require_that(a.valid >= 0 && a.valid <= a.logits.cols(), "`valid` is not within the columns");
}

void check(const Checker& c, const CrossEntropy& a) {
  c.require_matrix(a.logits, "logits", c.storage_of(a.logits, "logits"));
  const int64_t rows = a.logits.rows();
  c.require_shape(a.targets, "targets", {rows}, DType::i32);
  if (a.stats.empty()) {
    c.require_that(a.first_id == 0 && a.valid == a.vocabulary,
                   "a part of the vocabulary without the others' statistics");
  } else {
    c.require_contiguous(a.stats, "stats");
    c.require_that(a.stats.rank() == 3 && a.stats.dim(1) == rows && a.stats.dim(2) == 4, "stats is not [ranks, R, 4]");
  }
  c.require_shape(a.loss, "loss", {rows});
  c.require_shape(a.nll, "nll", {rows});
  c.require_that(a.valid >= 0 && a.valid <= a.logits.cols(), "`valid` is not within the columns");
  c.require_that(a.vocabulary >= a.first_id + a.valid, "the vocabulary is smaller than this rank's part");
  c.require_state(a.state);
  c.require_that(a.smoothing >= 0 && a.smoothing < 1, "smoothing is not in [0, 1)");
}

void check(const Checker& c, const Sum& a) {
  c.require_contiguous(a.x, "x");
  c.require_shape(a.y, "y", {1}, DType::f64);
}

void check(const Checker& c, const SumSquares& a) {
  c.require_contiguous(a.x, "x");
  c.require_shape(a.y, "y", {1}, DType::f64);
}

void check(const Checker& c, const Adam& a) {
  c.require_contiguous(a.param, "param");
  for (const auto& [t, name] : {std::pair{a.grad, "grad"}, {a.m, "m"}, {a.v, "v"}}) {
    c.require_contiguous(t, name);
    c.require_shape(t, name, a.param.shape);
  }
  if (!a.copy.empty()) {
    c.require_shape(a.copy, "copy", a.param.shape, c.storage_of(a.copy, "copy"));
  }
  c.require_state(a.state);
  c.require_that(a.step >= 1, "steps count from 1");
}

void check(const Checker& c, const Init& a) {
  c.require_contiguous(a.x, "x");
  c.require_that(a.x.numel() == a.outer * a.dim * a.inner, "x does not have outer * dim * inner elements");
}

void check(const Checker& c, const GatherRows& a) {
  const DType t = c.storage_of(a.x, "x");
  c.require_matrix(a.x, "x", t);
  c.require_tensor(a.rows, "rows", DType::i32);
  c.require_shape(a.rows, "rows", {a.rows.numel()}, DType::i32);
  c.require_shape(a.y, "y", {a.rows.numel(), a.x.cols()}, t);
}

void check(const Checker& c, const ScatterRows& a) {
  const DType t = c.storage_of(a.x, "x");
  c.require_matrix(a.x, "x", t);
  c.require_matrix(a.y, "y", t);
  c.require_shape(a.rows, "rows", {a.x.rows()}, DType::i32);
  c.require_shape(a.y, "y", {a.y.rows(), a.x.cols()}, t);
}

void check(const Checker& c, const TopK& a) {
  c.require_matrix(a.x, "x", c.storage_of(a.x, "x"));
  c.require_matrix(a.values, "values");
  c.require_shape(a.values, "values", {a.x.rows(), a.values.cols()});
  c.require_shape(a.columns, "columns", a.values.shape, DType::i32);
  c.require_contiguous(a.values, "values");
  c.require_contiguous(a.columns, "columns", DType::i32);
  c.require_that(a.values.cols() <= a.valid && a.valid <= a.x.cols(), "k and `valid` do not fit the columns");
}

}  // namespace

#define WEFT_DEFINE_CHECK(function, Arguments) \
  void check(const Context& ctx, const char* op, const Arguments& a) { check(Checker(ctx, op), a); }
WEFT_OPS(WEFT_DEFINE_CHECK)

}  // namespace weft::ops
