// tensor/cuda/gemm/gemm.cpp: computes ops::gemm in one cuBLASLt call if a plan covers everything requested. Otherwise
// it runs a matmul, by cuBLASLt or our own kernel, and then passes over the result.
#include "tensor/cuda/gemm/gemm.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tensor/cuda/gemm/gemm_tuning.h"
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/error.h"

namespace weft::cuda {
namespace {

using Kind = ops::Epilogue::Kind;

uint32_t alignment_of(const void* address) {  // in bytes, at most 256, because cuBLASLt ignores more
  constexpr uintptr_t kMax = 256;
  const auto bits = reinterpret_cast<uintptr_t>(address) | kMax;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

GemmKey key_of(const ops::Gemm& a, const GemmOperands& operands) {
  return {.m = a.c.rows(),
          .n = a.c.cols(),
          .k = a.trans_a ? a.a.rows() : a.a.cols(),
          .a_stride = a.a.row_stride,
          .b_stride = a.b.matrix.row_stride,
          .c_stride = a.c.row_stride,
          .trans_a = a.trans_a,
          .trans_b = a.trans_b,
          .bias = !a.bias.empty(),
          .accumulate = a.accumulate,
          .d_bias = !a.d_bias.empty(),
          .saves = !a.epilogue.saved.empty(),
          .epilogue = a.epilogue.kind,
          .activation = a.epilogue.activation,
          .ab = a.a.dtype,
          .c = a.c.dtype,
          .a_alignment = alignment_of(a.a.data),
          .b_alignment = alignment_of(a.b.matrix.data),
          .c_alignment = alignment_of(a.c.data),
          .bias_alignment = alignment_of(operands.bias),
          .saved_alignment = alignment_of(operands.saved)};
}

// Returns the bias if cuBLASLt can read it where it is: in c's type, rounded like the weights, and aligned for vectors,
// which cuBLASLt's heuristic does not check. Otherwise nullptr.
const Tensor* readable_bias(const ops::Gemm& a) {
  constexpr uint32_t kMinAlignment = 16;  // bytes
  const Tensor& t = a.c.dtype == DType::f32 ? a.bias : a.rounded_bias;
  return !t.empty() && t.dtype == a.c.dtype && alignment_of(t.data) >= kMinAlignment ? &t : nullptr;
}
bool copies_bias(const ops::Gemm& a) { return !a.bias.empty() && readable_bias(a) == nullptr; }

void reserve(Runtime& run, const ops::Gemm& a) {
  run.reserve(Runtime::kProduct, kGemmWorkspaceBytes);
  if (copies_bias(a)) run.reserve(Runtime::kBias, static_cast<size_t>(a.c.cols()) * size_of(a.c.dtype));
  if (!a.d_bias.empty()) run.reserve(Runtime::kBias, a.d_bias.bytes());
}

// Returns the bias, or memory for its gradient, for cuBLASLt, which cannot accumulate. So the gradient is added later.
Tensor bias_of(Runtime& run, const ops::Gemm& a) {
  const Tensor& t = a.d_bias.empty() ? a.bias : a.d_bias;
  if (a.d_bias.empty() && !copies_bias(a)) return a.bias.empty() ? a.bias : *readable_bias(a);
  return {run.scratch<void>(Runtime::kBias), t.shape, a.c.dtype, Device::cuda};
}

// cuBLASLt's GELU uses the hardware's approximation of tanh. Its error is up to half a unit in the last place of f16,
// which is too large for f32.
bool has_epilogue(const ops::Gemm& a) {
  if (a.epilogue.kind == Kind::none || a.epilogue.activation == Activation::relu) return true;
  return a.epilogue.activation == Activation::gelu_tanh && a.c.dtype != DType::f32;
}

void tune(Context& ctx, const ops::Gemm& a, const GemmKey& key);

// Computes all of `a` in one cuBLASLt call. Returns false if cuBLASLt cannot, or if separate passes are chosen.
bool multiply_at_once(Context& ctx, const ops::Gemm& a) {
  if (!has_epilogue(a)) return false;
  Runtime& run = runtime(ctx);
  if (!run.gemm) run.gemm = std::make_unique<GemmPlans>(GemmChoices(""));
  const GemmQueue queue{run.gemm->library(), run.stream_, run.scratch<void>(Runtime::kProduct)};
  const Tensor bias = bias_of(run, a);
  const GemmOperands operands{
      .a = a.a.data, .b = a.b.matrix.data, .bias = bias.data, .saved = a.epilogue.saved.data, .c = a.c.data};
  const GemmKey key = key_of(a, operands);
  if (run.gemm->must_tune(key)) tune(ctx, a, key);
  GemmPlan* const plan = run.gemm->find(key, operands, queue);
  if (plan == nullptr) return false;
  if (copies_bias(a)) cast(ctx, {.x = a.bias, .y = bias});
  if (!plan->run(queue, operands)) return false;
  if (!a.d_bias.empty()) add(ctx, {.x = bias, .y = a.d_bias});
  return true;
}

// Returns the activation's inputs, which are in `saved` or, for relu or if nothing is saved, in c.
Tensor inputs_of(const ops::Gemm& a) {
  const Tensor& saved = a.epilogue.saved;
  if (a.epilogue.activation == Activation::relu || saved.empty()) return a.c;
  return saved.with_shape({a.c.rows(), saved_stride(a.epilogue.activation, a.c.cols())}).slice_cols(0, a.c.cols());
}

void activate(Context& ctx, const ops::Gemm& a) {
  const ops::Epilogue& e = a.epilogue;
  if (e.activation == Activation::relu && !e.saved.empty()) return relu_with_bits(ctx, a.c, e.saved);
  activation_forward(ctx, {.x = inputs_of(a), .y = a.c, .kind = e.activation});
}

void differentiate(Context& ctx, const ops::Gemm& a) {
  const ops::Epilogue& e = a.epilogue;
  if (e.activation == Activation::relu) return keep_by_bits(ctx, a.c, e.saved);
  activation_backward(ctx, {.x = inputs_of(a), .d_y = a.c, .d_x = a.c, .kind = e.activation});
}

void multiply_in_parts(Context& ctx, const ops::Gemm& a) {
  ops::Gemm product = a;
  product.epilogue = {}, product.d_bias = {};
  if (a.epilogue.kind == Kind::activate) product.c = inputs_of(a);
  if (!multiply_at_once(ctx, product)) gemm_fallback(ctx, product);
  if (a.epilogue.kind == Kind::activate) activate(ctx, a);
  if (a.epilogue.kind == Kind::differentiate) differentiate(ctx, a);
  if (!a.d_bias.empty()) column_sum(ctx, {.x = a.a, .y = a.d_bias});
}

// Chooses the fastest of cuBLASLt's proposals. If there is an epilogue, another candidate is the fastest product
// without it, followed by separate passes. Leaves arbitrary values in the operands that `a` writes.
void tune(Context& ctx, const ops::Gemm& a, const GemmKey& key) {
  Runtime& run = runtime(ctx);
  GemmChoice best;
  float least = std::numeric_limits<float>::infinity();
  const auto consider = [&](GemmChoice choice, const auto& work) {
    run.gemm->choose(key, choice);
    const float took = time_on_gpu(run, work);
    if (took < least) least = took, best = choice;
  };
  for (size_t i = 0; i < kMaxProposals; ++i) consider({.proposal = i}, [&] { return multiply_at_once(ctx, a); });
  if (a.epilogue.kind != Kind::none || !a.d_bias.empty()) {
    consider({.separate = true}, [&] {
      multiply_in_parts(ctx, a);
      return true;
    });
  }
  run.gemm->choose(key, best);
}

}  // namespace

GemmPlans::GemmPlans(const GemmChoices& choices) : choices_(choices) {
  check(cublasLtCreate(&library_), "cublasLtCreate");
}

GemmPlans::~GemmPlans() { (void)cublasLtDestroy(library_); }

GemmPlan* GemmPlans::find(const GemmKey& key, const GemmOperands& operands, const GemmQueue& queue) {
  auto found = plans_.find(key);
  if (found == plans_.end()) {
    const GemmChoice* const chosen = choices_.find(key);
    const GemmChoice choice = chosen == nullptr ? GemmChoice{} : *chosen;
    auto plan = choice.separate ? nullptr : std::make_unique<GemmPlan>(queue, key, operands, choice.proposal);
    found = plans_.emplace(key, std::move(plan)).first;
  }
  GemmPlan* const plan = found->second.get();
  return plan != nullptr && plan->is_possible() ? plan : nullptr;
}

void GemmPlans::choose(const GemmKey& key, GemmChoice choice) {
  choices_.set(key, choice);
  plans_.erase(key);
}

std::string Runtime::tune(const std::string& known, const std::function<void()>& work) {
  gemm = std::make_unique<GemmPlans>(GemmChoices(known));
  try {
    gemm->set_tuning(true);
    work();
    gemm->set_tuning(false);
  } catch (...) {
    gemm.reset();  // drops the choice that was being timed
    throw;
  }
  return gemm->choices().text();
}

void measure(Context& ctx, const ops::Gemm& a) {
  if (a.c.numel() == 0) return;
  reserve(runtime(ctx), a);
  if (!a.d_bias.empty()) measure(ctx, ops::ColumnSum{.x = a.a, .y = a.d_bias});
}

void gemm(Context& ctx, const ops::Gemm& a) {
  if (a.c.numel() == 0) return;
  reserve(runtime(ctx), a);
  if (!multiply_at_once(ctx, a)) multiply_in_parts(ctx, a);
}

int64_t saved_numel(Activation activation, DType storage, int64_t rows, int64_t cols) {
  const int64_t numel = rows * saved_stride(activation, cols);
  return activation == Activation::relu ? numel / 8 / static_cast<int64_t>(size_of(storage)) : numel;
}

void pack_weight(Context&, const ops::PackWeight&) {
  fail(ErrorKind::internal, "pack_weight: GPUs do not pack weights");
}

}  // namespace weft::cuda
