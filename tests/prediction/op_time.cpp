// tests/prediction/op_time.cpp: adds up the kernels of an op.
#include "tests/prediction/op_time.h"

#include <algorithm>
#include <cmath>

#include "tensor/error.h"
#include "tests/prediction/attention_time.h"
#include "tests/prediction/gemm_time.h"
#include "tests/prediction/kernel_costs.h"
#include "trainer/bench/step_times.h"

namespace weft {
namespace {

using Op = OpTrace::Op;

const OpTrace::Operand* find(const Op& op, std::string_view name) {
  const auto found =
      std::find_if(op.operands.begin(), op.operands.end(), [&](const auto& o) { return o.name == name; });
  return found == op.operands.end() ? nullptr : &*found;
}

const Tensor& operand(const Op& op, std::string_view name) {
  const OpTrace::Operand* const found = find(op, name);
  if (found == nullptr) fail(ErrorKind::internal, fmt::format("{} has no operand {}", op.name, name));
  return found->tensor;
}

SentenceSpans spans_of(const Op& op, const char* begin, const char* end) {
  const auto values = [&](const char* name) {
    const Tensor& t = operand(op, name);
    return std::vector<int32_t>(t.ptr<int32_t>(), t.ptr<int32_t>() + t.numel());
  };
  return {values(begin), values(end)};
}

AttentionShape attention_shape(const Op& op, bool forward) {
  const Tensor &q = operand(op, "q"), &k = operand(op, "k");
  const SentenceSpans queries = spans_of(op, "q_rows begin", "q_rows end");
  const SentenceSpans keys = spans_of(op, "k_rows begin", "k_rows end");
  const int64_t heads = operand(op, forward ? "lse?" : "lse").rows(), head_size = q.cols() / heads;
  double pairs = 0;
  for (size_t i = 0; i < queries.begin.size(); ++i)
    pairs += static_cast<double>(queries.end[i] - queries.begin[i]) * (keys.end[i] - keys.begin[i]);
  const double flops_of_all_pairs = (forward ? 4 : 10) * pairs * static_cast<double>(q.cols());
  return {.queries = queries,
          .keys = keys,
          .rows = q.rows(),
          .heads = heads,
          .kv_heads = k.cols() / head_size,
          .head_size = head_size,
          .causal = op.cost.flops < flops_of_all_pairs,  // a causal mask hides some
          .bytes = op.cost.bytes};
}

}  // namespace

double elements_of(const Op& op, const KernelCost& cost) {
  return cost.elements.empty() ? 0 : static_cast<double>(operand(op, cost.elements).numel());
}

std::vector<std::string_view> cost_names_of(const Op& op) {
  if (op.name != std::string_view("gemm")) return {op.name};
  std::vector<std::string_view> names;
  if (find(op, "bias?") != nullptr && find(op, "rounded_bias?") == nullptr) names.push_back("gemm bias");
  if (find(op, "d_bias?") != nullptr) names.push_back("gemm d_bias");
  return names;
}

PredictedOp OpTimes::time(const Op& op) const {
  const std::string_view name = op.name;
  PredictedOp result{.part = part_of(op.name),
                     .name = op.name,
                     .calls = 1,
                     .bytes = op.cost.bytes,
                     .flops = op.cost.flops,
                     .roofline = std::max(op.cost.flops / gpu_.matmul_flops(), op.cost.bytes / gpu_.bandwidth)};
  name == "gemm" ? add_gemm(op, result) : add_attention(op, result);
  for (const std::string_view of_kernels : cost_names_of(op)) add_kernels(op, of_kernels, result);
  if (result.launches == 0) fail(ErrorKind::internal, fmt::format("tests/prediction/kernel_costs.cpp lacks {}", name));
  return result;
}

void OpTimes::add_gemm(const Op& op, PredictedOp& into) const {
  const OpTrace::Operand& c = *find(op, "c");
  const int64_t m = c.tensor.rows(), n = c.tensor.cols(), k = operand(op, "a").numel() / m;
  into.name = fmt::format("gemm {} x {} x {}{}", m, n, k, c.added ? ", added" : "");
  into.launches += 1;
  into.seconds += gemm_seconds(gpu_,
                               {.m = m,
                                .n = n,
                                .k = k,
                                .bytes = op.cost.bytes,
                                .c_bytes = static_cast<int64_t>(size_of(c.tensor.dtype)),
                                .adds_to_c = c.added},
                               graph_);
}

void OpTimes::add_kernels(const Op& op, std::string_view name, PredictedOp& into) const {
  for (const KernelCost& cost : kernel_costs()) {
    if (cost.op != name) continue;
    into.launches += 1;
    into.seconds += kernel_seconds(op, cost);
  }
}

double OpTimes::kernel_seconds(const Op& op, const KernelCost& cost) const {
  const double issue = elements_of(op, cost) * cost.instructions / 32 / (gpu_.sms * cost.ipc * gpu_.clock);
  const double memory = cost.bytes * op.cost.bytes / gpu_.bandwidth;
  return gpu_.gap(graph_) + kKernelRamp + std::max({issue, memory, cost.latency});
}

void OpTimes::add_attention(const Op& op, PredictedOp& into) const {
  const bool forward = op.name == std::string_view("attention_forward");
  if (!forward && op.name != std::string_view("attention_backward")) return;
  const AttentionShape shape = attention_shape(op, forward);
  ++into.launches;
  into.seconds +=
      forward ? attention_forward_seconds(gpu_, shape, graph_) : attention_backward_seconds(gpu_, shape, graph_);
}

}  // namespace weft
