// tensor/cpu/gemm/gemm.cpp: computes ops::gemm with oneDNN's matmul primitive. Only this file includes oneDNN.
//
// A plan is a primitive for one combination of shape, strides, bias and accumulation. A transposed operand is the same
// memory with exchanged strides. Bias and accumulation are fused into the matmul. bf16 is multiplied with f32 sums: by
// gemm_tiles.h on processors with AMX tiles, and by oneDNN on others with AVX-512. On all other processors, bf16 is
// first converted to f32. f16 is always converted.
#include "tensor/cpu/gemm/gemm.h"

#include <omp.h>

#include <dnnl.hpp>
#include <map>

#include "tensor/cpu/gemm/gemm_int8.h"
#include "tensor/cpu/gemm/gemm_tiles.h"
#include "tensor/cpu/gemm/gemm_weights.h"
#include "tensor/cpu/runtime.h"
#include "tensor/error.h"

namespace weft::cpu {

namespace {

struct Key {
  int64_t m, n, k, a_stride, b_stride, c_stride;
  bool trans_a, trans_b, bias, accumulate;
  DType ab, c;
  int threads;  // a primitive must run on the number of threads for which it was created
  auto operator<=>(const Key&) const = default;
};

int threads_for(int64_t m, int64_t n, int64_t k) {
  return m * n * k < kWorthThreadsProduct ? 1 : omp_get_max_threads();
}

struct Plan {
  dnnl::matmul::primitive_desc desc;
  dnnl::matmul matmul;  // its code is generated before the first run
  dnnl::memory a, b, c, bias, scratch;
  std::unordered_map<int, dnnl::memory> arguments;
};

dnnl::memory::desc matrix_desc(int64_t rows, int64_t cols, int64_t row_stride, DType dtype, bool transposed = false) {
  const dnnl::memory::dims strides = transposed ? dnnl::memory::dims{1, row_stride} : dnnl::memory::dims{row_stride, 1};
  const auto type = dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
  return {{rows, cols}, type, strides};
}

Plan make_plan(const dnnl::engine& engine, const Key& key) {
  const auto a_desc = matrix_desc(key.m, key.k, key.a_stride, key.ab, key.trans_a);
  const auto b_desc = matrix_desc(key.k, key.n, key.b_stride, key.ab, key.trans_b);
  const auto c_desc = matrix_desc(key.m, key.n, key.c_stride, key.c);
  const auto bias_desc = matrix_desc(1, key.n, key.n, DType::f32);

  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (key.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  const auto desc =
      key.bias ? dnnl::matmul::desc(a_desc, b_desc, bias_desc, c_desc) : dnnl::matmul::desc(a_desc, b_desc, c_desc);
  Plan plan;
  plan.desc = dnnl::matmul::primitive_desc(desc, attributes, engine);
  plan.a = dnnl::memory(a_desc, engine, nullptr);
  plan.b = dnnl::memory(b_desc, engine, nullptr);
  plan.c = dnnl::memory(c_desc, engine, nullptr);
  plan.scratch = dnnl::memory(plan.desc.scratchpad_desc(), engine, nullptr);
  plan.arguments = {
      {DNNL_ARG_SRC, plan.a}, {DNNL_ARG_WEIGHTS, plan.b}, {DNNL_ARG_DST, plan.c}, {DNNL_ARG_SCRATCHPAD, plan.scratch}};
  if (key.bias) {
    plan.bias = dnnl::memory(bias_desc, engine, nullptr);
    plan.arguments.emplace(DNNL_ARG_BIAS, plan.bias);
  }
  return plan;
}

Key key_of(const ops::Gemm& a) {
  const int64_t m = a.c.rows(), n = a.c.cols(), k = a.trans_a ? a.a.rows() : a.a.cols();
  return {.m = m,
          .n = n,
          .k = k,
          .a_stride = a.a.row_stride,
          .b_stride = a.b.matrix.row_stride,
          .c_stride = a.c.row_stride,
          .trans_a = a.trans_a,
          .trans_b = a.trans_b,
          .bias = !a.bias.empty(),
          .accumulate = a.accumulate,
          .ab = a.a.dtype,
          .c = a.c.dtype,
          .threads = threads_for(m, n, k)};
}

}  // namespace

struct GemmPlans::Plans {
  // Calls use(plan) with the number of threads for which the plan was created.
  template <typename Use>
  auto with_plan(const Key& key, Use&& use) {
    const UseThreads use_threads(key.threads);
    try {
      auto found = plans.find(key);
      if (found == plans.end()) found = plans.emplace(key, make_plan(engine, key)).first;
      return use(found->second);
    } catch (const dnnl::error& e) {
      fail(ErrorKind::internal, fmt::format("oneDNN reports: {}, in a matmul of [{}, {}] and [{}, {}]", e.what(), key.m,
                                            key.k, key.k, key.n));
    }
  }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<Key, Plan> plans;
};

UseThreads::UseThreads(int count) : kept_(omp_get_max_threads()) { omp_set_num_threads(count); }
UseThreads::~UseThreads() { omp_set_num_threads(kept_); }

GemmPlans::GemmPlans() : plans_(std::make_unique<Plans>()) {}
GemmPlans::~GemmPlans() = default;

size_t GemmPlans::scratch_bytes(const ops::Gemm& a) {
  return plans_->with_plan(key_of(a), [](Plan& plan) { return plan.scratch.get_desc().get_size(); });
}

void GemmPlans::run(const ops::Gemm& a, void* scratch) {
  plans_->with_plan(key_of(a), [&](Plan& plan) {
    if (!plan.matmul) plan.matmul = dnnl::matmul(plan.desc);
    plan.a.set_data_handle(a.a.data);
    plan.b.set_data_handle(a.b.matrix.data);
    plan.c.set_data_handle(a.c.data);
    plan.scratch.set_data_handle(scratch);
    if (!a.bias.empty()) plan.bias.set_data_handle(a.bias.data);
    plan.matmul.execute(plans_->stream, plan.arguments);
    plans_->stream.wait();
  });
}

namespace {

bool holds_all(dnnl::cpu_isa isa, dnnl::cpu_isa wanted) {  // an ISA's bits include the bits of lower ISAs
  return (static_cast<unsigned>(isa) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

bool has_avx512() {  // true if oneDNN may use it
  static const bool has_it = holds_all(dnnl::get_effective_cpu_isa(), dnnl::cpu_isa::avx512_core);
  return has_it;
}

// oneDNN multiplies bf16 only with AVX-512, where it emulates missing bf16 instructions. It never multiplies f16.
bool is_multiplied_as_f32(DType t) { return t == DType::f16 || (t == DType::bf16 && !has_avx512()); }

void reserve_product(Runtime& run, const ops::Gemm& a) {
  if (!has_avx512()) return run.gemm_blocks->reserve(run, a);
  run.reserve(Runtime::kProduct, run.gemm->scratch_bytes(a));
}

void multiply(Runtime& run, const ops::Gemm& a) {
  if (!has_avx512()) return run.gemm_blocks->run(run, a);
  run.gemm->run(a, run.data(Runtime::kProduct));
}

// Returns the operand for oneDNN: `t` itself, or memory for an f32 copy of `t`.
Tensor widened(Runtime& run, Runtime::Use use, const Tensor& t) {
  if (!is_multiplied_as_f32(t.dtype)) return t;
  run.reserve(use, static_cast<size_t>(t.numel()) * sizeof(float));
  return Tensor(run.data(use), t.shape);
}

ops::Gemm widened(Runtime& run, const ops::Gemm& a) {
  ops::Gemm product = a;
  product.a = widened(run, Runtime::kWideA, a.a);
  product.b = widened(run, Runtime::kWideB, a.b.matrix);
  product.c = widened(run, Runtime::kWideC, a.c);
  reserve_product(run, product);
  return product;
}

bool uses_packed_weight(const ops::Gemm& a) {
  return a.trans_b && !a.trans_a && !a.accumulate && !a.b.inference.empty();
}

void reserve_int8(Runtime& run, const ops::Gemm& a) {
  run.reserve(Runtime::kProduct, int8_scratch_bytes(int8_kernels().front(), a));
}

// Computes op(a) op(b) + bias + c, for any storage type.
void multiply_stored(Context& ctx, const ops::Gemm& a) {
  Runtime& run = runtime(ctx);
  if (uses_packed_weight(a) && a.b.inference.dtype == DType::i8) {
    reserve_int8(run, a);
    return gemm_int8(int8_kernels().front(), a, run.data(Runtime::kProduct));
  }
  if (uses_packed_weight(a)) return multiply_by_weight(a);
  // Small GEMMs use tiles as well, because the bits of a row must not depend on the number of rows.
  if (run.tiles_for(a.a.dtype)) {
    run.reserve(Runtime::kProduct, gemm_tiles_scratch(a));
    return gemm_tiles(a, run.data(Runtime::kProduct));
  }
  const ops::Gemm product = widened(run, a);
  if (is_multiplied_as_f32(a.a.dtype)) {
    cast(ctx, {.x = a.a, .y = product.a});
    cast(ctx, {.x = a.b.matrix, .y = product.b.matrix});
  }
  const bool is_rounded = is_multiplied_as_f32(a.c.dtype);
  if (is_rounded && a.accumulate) cast(ctx, {.x = a.c, .y = product.c});
  multiply(run, product);
  if (is_rounded) cast(ctx, {.x = product.c, .y = a.c});
}

// Returns the GEMM before its epilogue. It writes to epilogue.saved if that keeps the activation's inputs, else to c.
ops::Gemm before_epilogue(const ops::Gemm& a) {
  const ops::Epilogue& e = a.epilogue;
  ops::Gemm product = a;
  if (e.kind == ops::Epilogue::Kind::activate && e.activation != Activation::relu && !e.saved.empty())
    product.c = e.saved.with_shape(a.c.shape);
  return product;
}

}  // namespace

void measure(Context& ctx, const ops::Gemm& a) {
  if (a.c.numel() == 0) return;
  Runtime& run = runtime(ctx);
  const ops::Gemm product = before_epilogue(a);
  if (uses_packed_weight(a)) return a.b.inference.dtype == DType::i8 ? reserve_int8(run, product) : void();
  if (run.tiles_for(a.a.dtype))
    run.reserve(Runtime::kProduct, gemm_tiles_scratch(product));
  else
    widened(run, product);
}

// Epilogues are separate ops, so a trace shows them separately.
void gemm(Context& ctx, const ops::Gemm& a) {
  using Kind = ops::Epilogue::Kind;
  if (a.c.numel() == 0) return;
  const ops::Epilogue& e = a.epilogue;
  const ops::Gemm product = before_epilogue(a);
  multiply_stored(ctx, product);
  if (e.kind == Kind::activate) ops::activation_forward(ctx, {.x = product.c, .y = a.c, .kind = e.activation});
  if (e.kind == Kind::differentiate) {
    const Tensor saved = e.activation == Activation::relu ? e.saved : e.saved.with_shape(a.c.shape);
    ops::activation_backward(ctx, {.x = saved, .y = saved, .d_y = a.c, .d_x = a.c, .kind = e.activation});
  }
  if (!a.d_bias.empty()) ops::column_sum(ctx, {.x = a.a, .y = a.d_bias});
}

// relu saves nothing, because its gradient needs only its output.
int64_t saved_numel(Activation activation, DType, int64_t rows, int64_t cols) {
  return activation == Activation::relu ? 0 : rows * cols;
}

bool uses_gemm_blocks() { return !has_avx512(); }

int64_t packed_numel(DType storage, int64_t k, int64_t n) {
  return storage == DType::bf16 && has_gemm_tiles() ? packed_tiles_numel(k, n) : 0;
}

int64_t inference_numel(DType storage, int64_t k, int64_t n) {
  if (storage != DType::i8) return weight_copy_numel(storage, k, n);
  if (k > kLongestInt8Sum)
    fail(ErrorKind::usage, fmt::format("a matrix of this model has {} columns, but int8 sums at most {} products: use "
                                       "--precision f32",
                                       k, kLongestInt8Sum));
  return int8_copy_bytes(int8_kernels().front(), k, n);
}

void pack_weight(Context&, const ops::PackWeight& a) {
  pack_weight_tiles(a.weight);
  const Tensor& copy = a.weight.inference;
  if (copy.empty()) return;
  copy.dtype == DType::i8 ? pack_int8(int8_kernels().front(), a.weight.matrix, copy.data)
                          : pack_for_inference(a.weight);
}

}  // namespace weft::cpu

// Asks oneDNN, not the processor, because ONEDNN_MAX_CPU_ISA can forbid oneDNN instructions that the processor has.
bool weft::has_bf16_instructions() {
  return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
}
