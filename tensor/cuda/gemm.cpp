// tensor/cuda/gemm.cpp: ops::gemm: finds the plan, rounds the bias, or leaves the product to our own kernel.
#include "tensor/cuda/gemm.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tensor/cuda/runtime.h"
#include "tensor/error.h"

namespace weft::cuda {
namespace {

uint32_t alignment_of(const void* address) {  // in bytes; cuBLASLt tells none apart beyond 256
  constexpr uintptr_t kMost = 256;
  const auto bits = reinterpret_cast<uintptr_t>(address) | kMost;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

bool is_wanted(const char* setting) {
  const char* value = std::getenv(setting);
  return value != nullptr && std::string_view(value) == "1";
}

GemmKey key_of(const ops::Gemm& a, const Tensor& bias) {
  return {.m = a.c.rows(),
          .n = a.c.cols(),
          .k = a.trans_a ? a.a.rows() : a.a.cols(),
          .a_stride = a.a.row_stride,
          .b_stride = a.b.row_stride,
          .c_stride = a.c.row_stride,
          .trans_a = a.trans_a,
          .trans_b = a.trans_b,
          .bias = !bias.empty(),
          .accumulate = a.accumulate,
          .ab = a.a.dtype,
          .c = a.c.dtype,
          .a_alignment = alignment_of(a.a.data),
          .b_alignment = alignment_of(a.b.data),
          .c_alignment = alignment_of(a.c.data),
          .bias_alignment = alignment_of(bias.data)};
}

bool rounds_bias(const ops::Gemm& a) { return !a.bias.empty() && a.c.dtype != DType::f32; }

void reserve(Runtime& run, const ops::Gemm& a) {
  run.reserve(Runtime::kProduct, kGemmWorkspaceBytes);
  if (rounds_bias(a)) run.reserve(Runtime::kBias, static_cast<size_t>(a.c.cols()) * size_of(a.c.dtype));
}

}  // namespace

GemmPlans::GemmPlans() : tune_(is_wanted("WEFT_TUNE_GEMM")) { check(cublasLtCreate(&library_), "cublasLtCreate"); }

GemmPlans::~GemmPlans() { (void)cublasLtDestroy(library_); }

GemmPlan* GemmPlans::find(const ops::Gemm& a, const Tensor& bias, const GemmQueue& queue) {
  const GemmKey key = key_of(a, bias);
  auto found = plans_.find(key);
  if (found == plans_.end()) found = plans_.try_emplace(key, queue, key, bias.data, tune_).first;
  return found->second.is_possible() ? &found->second : nullptr;
}

void measure(Context& ctx, const ops::Gemm& a) {
  if (a.c.numel() > 0) reserve(runtime(ctx), a);
}

// cuBLASLt takes a bias of c's own storage alone, so for bf16 and f16 it is rounded first, as the weights are.
void gemm(Context& ctx, const ops::Gemm& a) {
  if (a.c.numel() == 0) return;
  Runtime& run = runtime(ctx);
  reserve(run, a);
  if (!run.gemm) run.gemm = std::make_unique<GemmPlans>();
  const GemmQueue queue{run.gemm->library(), run.stream_, run.scratch<void>(Runtime::kProduct)};
  const Tensor bias =
      rounds_bias(a) ? Tensor(run.scratch<void>(Runtime::kBias), a.bias.shape, a.c.dtype, Device::cuda) : a.bias;
  GemmPlan* const plan = run.gemm->find(a, bias, queue);
  if (plan == nullptr) return gemm_fallback(ctx, a);
  if (rounds_bias(a)) cast(ctx, {.x = a.bias, .y = bias});
  plan->run(queue, {.a = a.a.data, .b = a.b.data, .bias = bias.data, .c = a.c.data});
}

void pack_weight(Context&, const ops::PackWeight&) {
  fail(ErrorKind::internal, "pack_weight: GPUs have no packed form of a weight");
}

}  // namespace weft::cuda
