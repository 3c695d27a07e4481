// tensor/op/op_cost.cpp: counts the bytes of an op's described operands, and the FLOPs of GEMMs and attention.
#include "tensor/op/op_cost.h"

#include <algorithm>
#include <vector>

#include "tensor/op/op_operands.h"
#include "tensor/transfer.h"

namespace weft {
namespace {

class Bytes {  // sums over operands; an operand that is added to counts twice, and scratch memory does not count
 public:
  double total = 0;

  void in(const char*, const Tensor& t, const char*, OperandType = OperandType::T, int64_t rows = -1) {
    total += static_cast<double>((rows < 0 || t.empty() ? t : t.slice_rows(0, std::min(rows, t.rows()))).bytes());
  }
  void out(const char* name, const Tensor& t, const char* dims, OperandType type = OperandType::T, int64_t rows = -1) {
    in(name, t, dims, type, rows);
  }
  void add(const char* name, const Tensor& t, const char* dims, OperandType type = OperandType::T, int64_t rows = -1) {
    in(name, t, dims, type, rows);
    in(name, t, dims, type, rows);
  }
  void scratch_memory(const char*, const Tensor&, const char*) {}
  void size(char, int64_t) {}
  void ranges(const char*, const ops::SequenceRanges&, const Tensor&) {}
  void dropout(const Dropout&) {}
  void scalars(const StepScalars*) {}
};

class Operands {  // lists the operands that are not empty
 public:
  std::vector<OpTrace::Operand> all;

  void in(const char* name, const Tensor& t, const char*, OperandType = OperandType::T, int64_t = -1) {
    if (!t.empty()) all.push_back({name, t, false});
  }
  void out(const char* name, const Tensor& t, const char* dims, OperandType = OperandType::T, int64_t = -1) {
    in(name, t, dims);
  }
  void add(const char* name, const Tensor& t, const char* dims, OperandType = OperandType::T, int64_t = -1) {
    in(name, t, dims);
    if (!t.empty()) all.back().added = true;
  }
  void scratch_memory(const char*, const Tensor&, const char*) {}
  void size(char, int64_t) {}
  void ranges(const char* name, const ops::SequenceRanges& s, const Tensor&) {
    const bool queries = name[0] == 'q';
    in(queries ? "q_rows begin" : "k_rows begin", s.begin, "B");
    in(queries ? "q_rows end" : "k_rows end", s.end, "B");
  }
  void dropout(const Dropout&) {}
  void scalars(const StepScalars*) {}
};

// Returns the number of (query, visible key) pairs. In a dry run, ranges are null or in host memory.
double num_pairs(Context& ctx, const ops::SequenceRanges& queries, const ops::SequenceRanges& keys, bool causal) {
  if (ctx.dry_run() && (queries.begin.data == nullptr || keys.begin.data == nullptr)) return 0;
  const auto read = [&](const Tensor& t) {
    return ctx.dry_run() ? std::vector<int32_t>(t.ptr<int32_t>(), t.ptr<int32_t>() + t.numel())
                         : to_host<int32_t>(ctx, t);
  };
  const auto lengths = [&](const ops::SequenceRanges& s) {
    std::vector<int32_t> length = read(s.end);
    const std::vector<int32_t> begin = read(s.begin);
    for (size_t i = 0; i < length.size(); ++i) length[i] -= begin[i];
    return length;
  };
  const std::vector<int32_t> q = lengths(queries), k = lengths(keys);
  double pairs = 0;
  for (size_t i = 0; i < q.size(); ++i) pairs += causal ? 0.5 * q[i] * (q[i] + 1) : 1.0 * q[i] * k[i];
  return pairs;
}

template <typename Arguments>
double flops_of(Context&, const Arguments&) {
  return 0;
}
double flops_of(Context&, const ops::Gemm& a) {
  const int64_t inner = a.trans_a ? a.a.rows() : a.a.cols();
  return 2.0 * static_cast<double>(a.c.numel()) * static_cast<double>(inner);
}
// Per pair, a head needs 2 K operations for the score and 2 K for the value. The backward pass has five such matmuls.
double flops_of(Context& ctx, const ops::AttentionForward& a) {
  return 4 * num_pairs(ctx, a.q_rows, a.k_rows, a.causal) * static_cast<double>(a.q.cols());
}
double flops_of(Context& ctx, const ops::AttentionBackward& a) {
  return 10 * num_pairs(ctx, a.q_rows, a.k_rows, a.causal) * static_cast<double>(a.q.cols());
}
double flops_of(Context& ctx, const ops::AttentionWeights& a) {
  const double width = static_cast<double>(a.q.cols() / a.heads * a.num_heads);
  return 2 * num_pairs(ctx, a.q_rows, a.k_rows, /*causal=*/false) * width;
}

}  // namespace

#define WEFT_DEFINE_COST(function, Arguments, ...)                     \
  OpCost cost_of(Context& ctx, const ops::Arguments& a) {              \
    Bytes bytes;                                                       \
    ops::operands(bytes, a);                                           \
    return {.bytes = bytes.total, .flops = flops_of(ctx, a)};          \
  }                                                                    \
  std::vector<OpTrace::Operand> operands_of(const ops::Arguments& a) { \
    Operands operands;                                                 \
    ops::operands(operands, a);                                        \
    return operands.all;                                               \
  }
WEFT_OPS(WEFT_DEFINE_COST)

}  // namespace weft
