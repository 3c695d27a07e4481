// tensor/op/op_checks.cpp: checks arguments against the op's description (op_operands.h), and further conditions that
// the description cannot express.
#include "tensor/op/op_checks.h"

#include <array>
#include <string_view>

#include "tensor/error.h"
#include "tensor/op/op_operands.h"

namespace weft::ops {

namespace {

// Fails with "op: name is f32 [3, 4] ..., expected ...". The message is built only on failure.
class Checker {
 public:
  Checker(const Context& ctx, const char* op) : ctx_(ctx), op_(op) { sizes_.fill(-1); }

  void in(std::string_view name, const Tensor& t, const char* dims, OperandType type = OperandType::T, int64_t = -1) {
    const bool optional = name.ends_with('?');
    if (optional && t.empty()) return;
    if (optional) name.remove_suffix(1);
    require_type(t, name, type);
    require_shape(t, name, dims);
  }
  void out(std::string_view name, const Tensor& t, const char* dims, OperandType type = OperandType::T, int64_t = -1) {
    in(name, t, dims, type);
  }
  void add(std::string_view name, const Tensor& t, const char* dims, OperandType type = OperandType::T, int64_t = -1) {
    in(name, t, dims, type);
  }
  void scratch_memory(std::string_view name, const Tensor& t, const char* dims) { in(name, t, dims, OperandType::f32); }
  void size(char letter, int64_t value) { sizes_[static_cast<unsigned char>(letter)] = value; }

  // Checks that each sentence lies within `rows`, if the host can read the ranges.
  void ranges(const char* name, const SequenceRanges& s, const Tensor& rows) {
    in(name, s.begin, "B", OperandType::i32);
    in(name, s.end, "B", OperandType::i32);
    if (s.longest > 0) require_longest(s, name, s.longest);
    for_each_sentence(s, [&](int64_t i, int32_t begin, int32_t end) {
      if (begin < 0 || begin > end || end > rows.rows())
        fail_op(fmt::format("{}: sentence {} has rows {} to {}, but only {} exist", name, i, begin, end, rows.rows()));
    });
    if (!s.of_row.empty()) require_same_sentences(s, name, rows.rows());
  }
  void require_same_sentences(const SequenceRanges& s, const char* name, int64_t rows) {
    require_type(s.of_row, name, OperandType::i32);
    if (s.of_row.numel() != rows) fail_op(fmt::format("{}: of_row has {} rows, not {}", name, s.of_row.numel(), rows));
    for_each_sentence(s, [&](int64_t i, int32_t begin, int32_t end) {
      for (int32_t row = begin; row < end; ++row)
        if (s.of_row.ptr<int32_t>()[row] != i) fail_op(fmt::format("{}: of_row[{}] must be {}", name, row, i));
    });
  }
  void require_longest(const SequenceRanges& s, const char* name, int64_t most) const {
    for_each_sentence(s, [&](int64_t i, int32_t begin, int32_t end) {
      if (end - begin > most)
        fail_op(fmt::format("{}: sentence {} has {} rows, but the limit is {}", name, i, end - begin, most));
    });
  }
  void dropout(const Dropout& d) const {
    if (!(d.rate >= 0 && d.rate < 1)) fail_op(fmt::format("dropout rate {} is not in [0, 1)", d.rate));
    if (d.rate > 0) scalars(d.scalars);
  }
  void scalars(const StepScalars* s) const {
    if (s == nullptr && !ctx_.dry_run()) fail_op("the step's scalars are missing");
  }
  void contiguous(const char* name, const Tensor& t) const {
    if (!t.contiguous()) fail_op(fmt::format("{} is a column slice, expected contiguous rows", name));
  }
  void require(bool ok, const char* message) const {
    if (!ok) fail_op(message);
  }
  DType storage() const { return storage_; }

 private:
  static bool is_storage(DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::f16; }

  void require_type(const Tensor& t, std::string_view name, OperandType type) {
    if (t.empty()) fail_op(fmt::format("{} is missing", name));
    if (type == OperandType::any_storage || (type == OperandType::T && !has_storage_)) {
      if (!is_storage(t.dtype)) fail_op(fmt::format("{} is {}, expected f32, bf16 or f16", name, name_of(t.dtype)));
      if (type == OperandType::T) storage_ = t.dtype, has_storage_ = true;
    } else if (const DType wanted = expected(type, t); t.dtype != wanted) {
      fail_op(fmt::format("{} is {}, expected {}", name, name_of(t.dtype), name_of(wanted)));
    }
    if (t.device != ctx_.device()) fail_op(fmt::format("{} is on a different device", name));
    if (t.data == nullptr && t.numel() > 0 && !ctx_.dry_run()) fail_op(fmt::format("{} has no memory", name));
  }
  DType expected(OperandType type, const Tensor& t) const {
    switch (type) {
      case OperandType::f32:
        return DType::f32;
      case OperandType::f64:
        return DType::f64;
      case OperandType::i32:
        return DType::i32;
      case OperandType::T_or_f32:
        return t.dtype == DType::f32 ? DType::f32 : storage_;
      case OperandType::T_or_i8:
        return t.dtype == DType::i8 && storage_ == DType::f32 ? DType::i8 : storage_;
      default:
        return storage_;
    }
  }

  void require_shape(const Tensor& t, std::string_view name, std::string_view dims) {
    const Shape wanted = dims == "*" ? any_shape(t) : shape_of(t, name, dims);
    if (t.shape != wanted) fail_op(fmt::format("{} is {}, expected {}", name, t.shape.str(), wanted.str()));
    if (t.rank() != 2 && !t.contiguous()) fail_op(fmt::format("{} is a column slice, expected contiguous rows", name));
  }
  Shape any_shape(const Tensor& t) {
    if (any_.rank() == 0) any_ = t.shape;
    return any_;
  }
  Shape shape_of(const Tensor& t, std::string_view name, std::string_view dims) {
    if (t.rank() != static_cast<int>(dims.size())) {
      if (dims.size() == 2) fail_op(fmt::format("{} is {}, expected a matrix", name, t.shape.str()));
      fail_op(fmt::format("{} is {}, expected {} dimension{}", name, t.shape.str(), dims.size(),
                          dims.size() == 1 ? "" : "s"));
    }
    Shape wanted;
    for (size_t i = 0; i < dims.size(); ++i) {
      const char c = dims[i];
      int64_t& size = sizes_[static_cast<unsigned char>(c)];
      if (c >= '0' && c <= '9') size = c - '0';
      if (size < 0) size = t.dim(static_cast<int>(i));
      wanted = wanted.appended(size);
    }
    return wanted;
  }

  template <typename F>
  void for_each_sentence(const SequenceRanges& s, const F& f) const {
    if (ctx_.dry_run() || ctx_.device() != Device::cpu) return;
    for (int64_t i = 0; i < s.begin.numel(); ++i) f(i, s.begin.ptr<int32_t>()[i], s.end.ptr<int32_t>()[i]);
  }
  [[noreturn]] void fail_op(const std::string& message) const {
    fail(ErrorKind::internal, fmt::format("{}: {}", op_, message));
  }

  const Context& ctx_;
  const char* op_;
  DType storage_ = DType::f32;
  bool has_storage_ = false;
  Shape any_;
  std::array<int64_t, 128> sizes_;  // indexed by letter; -1: unknown
};

// Checks the further conditions of an op. By default there are none.
template <typename Arguments>
void check_more(const Checker&, const Arguments&) {}

void check_more(const Checker& c, const Gemm& a) {
  using Kind = Epilogue::Kind;
  const int64_t k = a.trans_a ? a.a.rows() : a.a.cols(), n = a.c.cols();
  c.require(k > 0, "the inner dimension is 0");
  const Tensor& packed = a.b.packed(a.trans_b);
  c.require(packed.empty() || packed.numel() == packed_numel(packed.device, c.storage(), k, n),
            "the packed weight has the wrong shape");
  c.require(!a.trans_b || a.b.inference.empty() ||
                a.b.inference.numel() == inference_numel(a.b.inference.device, a.b.inference.dtype, k, n),
            "the weight's copy for inference has the wrong shape");
  const Epilogue& e = a.epilogue;
  if (e.kind != Kind::none) {
    c.require(!a.accumulate, "an activation cannot follow an accumulated sum");
    c.require(e.kind == Kind::activate || a.bias.empty(), "epilogue.differentiate cannot be combined with a bias");
    const int64_t numel = saved_numel(a.c.device, e.activation, a.c.dtype, a.c.rows(), n);
    c.require(
        e.saved.empty() || (e.saved.dtype == a.c.dtype && e.saved.shape == (numel > 0 ? Shape{numel} : a.c.shape)),
        "epilogue.saved does not have the shape or type of saved_numel()");
  }
  c.require(a.rounded_bias.empty() || !a.bias.empty(), "rounded_bias is given without bias");
  c.require(a.d_bias.empty() || (a.trans_a && a.c.dtype == DType::f32 && a.bias.empty() && e.kind == Kind::none),
            "d_bias requires trans_a, an f32 result, no bias and no epilogue");
}

void check_more(const Checker& c, const PackWeight& a) {
  const Tensor& w = a.weight.matrix;
  for (const bool trans_b : {true, false}) {
    const Tensor& packed = a.weight.packed(trans_b);
    const int64_t numel =
        packed_numel(w.device, c.storage(), trans_b ? w.cols() : w.rows(), trans_b ? w.rows() : w.cols());
    c.require(packed.empty() || packed.numel() == numel, "a packed weight does not have packed_numel() elements");
  }
  c.require(a.weight.inference.empty() ||
                a.weight.inference.numel() == inference_numel(w.device, a.weight.inference.dtype, w.cols(), w.rows()),
            "a weight's copy for inference does not have inference_numel() elements");
}

void check_more(const Checker& c, const ResidualNormBackward& a) {
  c.require(a.dropout.rate <= 0 || a.d_x.data == nullptr || a.d_x.data != a.d_h.data,
            "with dropout, d_x and d_h must not share memory");
}

void check_more(const Checker& c, const Rotary& a) {
  c.require(a.heads > 0 && a.table.cols() % 2 == 0 && a.x.cols() == a.heads * a.table.cols(),
            "the width of x must be `heads` times the table's width, which must be even");
}

void check_heads(const Checker& c, const auto& a) {
  c.require(a.heads > 0 && a.q.cols() % a.heads == 0, "the width is not divisible by the number of heads");
  c.require(a.kv_heads == 0 || (a.kv_heads > 0 && a.heads % a.kv_heads == 0),
            "the number of heads is not divisible by the number of heads of k and v");
}
void check_more(const Checker& c, const AttentionForward& a) { check_heads(c, a); }
void check_more(const Checker& c, const AttentionBackward& a) {
  check_heads(c, a);
  c.require(
      a.q.device != Device::cuda || (!a.q_rows.pieces.empty() && !a.q_rows.of_row.empty() && !a.k_rows.of_row.empty()),
      "on a GPU, q_rows.pieces, q_rows.of_row and k_rows.of_row are required");
}
void check_more(const Checker& c, const AttentionWeights& a) {
  check_heads(c, a);
  c.require(a.first_head >= 0 && a.num_heads >= 0 && a.first_head + a.num_heads <= a.heads,
            "the chosen heads are not all on this rank");
  c.require_longest(a.k_rows, "k_rows", a.y.cols());
}

void check_more(const Checker& c, const SoftmaxStats& a) {
  c.contiguous("stats", a.stats);
  c.require(a.valid >= 0 && a.valid <= a.logits.cols(), "`valid` is not within the columns");
}

void check_more(const Checker& c, const CrossEntropy& a) {
  c.require(!a.stats.empty() || (a.first_id == 0 && a.valid == a.vocabulary),
            "the vocabulary is split, but stats of the other ranks are missing");
  c.require(a.valid >= 0 && a.valid <= a.logits.cols(), "`valid` is not within the columns");
  c.require(a.vocabulary >= a.first_id + a.valid, "the vocabulary is smaller than this rank's part of it");
  c.require(a.smoothing >= 0 && a.smoothing < 1, "smoothing is not in [0, 1)");
}

void check_more(const Checker& c, const ConsistencyStats& a) {
  c.contiguous("stats", a.stats);
  c.require(a.valid >= 0 && a.valid <= a.logits_p.cols(), "`valid` is not within the columns");
}

void check_more(const Checker& c, const ConsistencyLoss& a) {
  c.contiguous("stats", a.stats);
  c.require(a.valid >= 0 && a.valid <= a.logits_p.cols(), "`valid` is not within the columns");
  c.require(a.vocabulary >= a.first_id + a.valid, "the vocabulary is smaller than this rank's part of it");
  c.require(a.smoothing >= 0 && a.smoothing < 1, "smoothing is not in [0, 1)");
}

void check_more(const Checker& c, const Sum& a) { c.contiguous("x", a.x); }
void check_more(const Checker& c, const SumSquares& a) { c.contiguous("x", a.x); }
void check_more(const Checker& c, const Update& a) {
  for (const Tensor* t : {&a.param, &a.grad, &a.first, &a.second, &a.copy, &a.average}) c.contiguous("a tensor", *t);
  c.require(a.rule != UpdateRule::schedule_free || a.beta1 > 0, "schedule_free needs beta1 > 0");
}
void check_more(const Checker& c, const MuonMomentum& a) {
  for (const Tensor* t : {&a.grad, &a.m}) c.contiguous("a tensor", *t);
}
void check_more(const Checker& c, const Init& a) {
  c.contiguous("x", a.x);
  c.require(a.x.numel() == a.outer * a.dim * a.inner, "x does not have outer * dim * inner elements");
}

void check_more(const Checker& c, const TopK& a) {
  c.contiguous("values", a.values);
  c.contiguous("columns", a.columns);
  c.require(a.values.cols() <= a.valid && a.valid <= a.x.cols(), "k or `valid` is too large");
  c.require(a.classes.empty() == a.allowed.empty(), "classes and allowed must be given together");
}

}  // namespace

#define WEFT_DEFINE_CHECK(function, Arguments, ...)                    \
  void check(const Context& ctx, const char* op, const Arguments& a) { \
    Checker checker(ctx, op);                                          \
    operands(checker, a);                                              \
    check_more(checker, a);                                            \
  }
WEFT_OPS(WEFT_DEFINE_CHECK)

}  // namespace weft::ops
