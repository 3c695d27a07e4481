// tensor/cpu/gemm.cpp: ops::gemm by oneDNN's matmul primitive; the only file that includes oneDNN.
//
// A plan is a primitive for one (shape, strides, bias, accumulate). A transposed operand is the same memory with its
// strides exchanged. Bias and accumulation are fused into the product. bf16 operands are multiplied by the processor's
// own instructions (f32 sums); f16 has none here: its operands are widened to f32 first.
#include "tensor/cpu/gemm.h"

#include <omp.h>

#include <dnnl.hpp>
#include <map>
#include <vector>

#include "tensor/cpu/runtime.h"
#include "tensor/error.h"

namespace weft::cpu {

namespace {

struct Key {
  int64_t m, n, k, a_stride, b_stride, c_stride;
  bool trans_a, trans_b, bias, accumulate;
  DType ab, c;
  int threads;  // a primitive must run on as many as it was made for
  auto operator<=>(const Key&) const = default;
};

class UseThreads {  // for the lifetime of this object
 public:
  explicit UseThreads(int count) : kept_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~UseThreads() { omp_set_num_threads(kept_); }
  UseThreads(const UseThreads&) = delete;
  UseThreads& operator=(const UseThreads&) = delete;

 private:
  const int kept_;
};

// A product of a few microseconds runs on the calling thread: waking the others would take longer.
int threads_for(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kWorthThreadsProduct = int64_t{1} << 19;
  return m * n * k < kWorthThreadsProduct ? 1 : omp_get_max_threads();
}

struct Plan {
  dnnl::matmul matmul;
  dnnl::memory a, b, c, bias;
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
  if (key.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  const auto desc =
      key.bias ? dnnl::matmul::desc(a_desc, b_desc, bias_desc, c_desc) : dnnl::matmul::desc(a_desc, b_desc, c_desc);
  Plan plan;
  plan.matmul = dnnl::matmul(dnnl::matmul::primitive_desc(desc, attributes, engine));
  plan.a = dnnl::memory(a_desc, engine, nullptr);
  plan.b = dnnl::memory(b_desc, engine, nullptr);
  plan.c = dnnl::memory(c_desc, engine, nullptr);
  plan.arguments = {{DNNL_ARG_SRC, plan.a}, {DNNL_ARG_WEIGHTS, plan.b}, {DNNL_ARG_DST, plan.c}};
  if (key.bias) {
    plan.bias = dnnl::memory(bias_desc, engine, nullptr);
    plan.arguments.emplace(DNNL_ARG_BIAS, plan.bias);
  }
  return plan;
}

}  // namespace

struct GemmPlans::Plans {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<Key, Plan> plans;
  Buffer widened[3];  // f32 copies of a product's f16 operands: a, b, c
};

GemmPlans::GemmPlans() : plans_(std::make_unique<Plans>()) {}
GemmPlans::~GemmPlans() = default;

void GemmPlans::run(const ops::Gemm& a) {
  const int64_t m = a.c.rows(), n = a.c.cols(), k = a.trans_a ? a.a.rows() : a.a.cols();
  const Key key{.m = m,
                .n = n,
                .k = k,
                .a_stride = a.a.row_stride,
                .b_stride = a.b.row_stride,
                .c_stride = a.c.row_stride,
                .trans_a = a.trans_a,
                .trans_b = a.trans_b,
                .bias = !a.bias.empty(),
                .accumulate = a.accumulate,
                .ab = a.a.dtype,
                .c = a.c.dtype,
                .threads = threads_for(m, n, k)};
  const UseThreads use_threads(key.threads);
  try {
    auto found = plans_->plans.find(key);
    if (found == plans_->plans.end()) found = plans_->plans.emplace(key, make_plan(plans_->engine, key)).first;
    Plan& plan = found->second;
    plan.a.set_data_handle(a.a.data);
    plan.b.set_data_handle(a.b.data);
    plan.c.set_data_handle(a.c.data);
    if (key.bias) plan.bias.set_data_handle(a.bias.data);
    plan.matmul.execute(plans_->stream, plan.arguments);
    plans_->stream.wait();
  } catch (const dnnl::error& e) {
    fail(ErrorKind::internal,
         fmt::format("oneDNN: {} in a product of [{}, {}] and [{}, {}]", e.what(), key.m, key.k, key.k, key.n));
  }
}

Tensor GemmPlans::widened(int which, const Tensor& t) {
  if (t.dtype != DType::f16) return t;
  Buffer& buffer = plans_->widened[which];
  const size_t bytes = static_cast<size_t>(t.numel()) * sizeof(float);
  if (buffer.bytes() < bytes) buffer = Buffer(bytes);
  return buffer.tensor(t.shape);
}

void gemm(Context& ctx, const ops::Gemm& a) {
  if (a.c.numel() == 0) return;
  GemmPlans& plans = *runtime(ctx).gemm;
  ops::Gemm product = a;
  product.a = plans.widened(0, a.a);
  product.b = plans.widened(1, a.b);
  product.c = plans.widened(2, a.c);
  if (a.a.dtype == DType::f16) {
    cast(ctx, {.x = a.a, .y = product.a});
    cast(ctx, {.x = a.b, .y = product.b});
  }
  if (a.c.dtype == DType::f16 && a.accumulate) cast(ctx, {.x = a.c, .y = product.c});
  plans.run(product);
  if (a.c.dtype == DType::f16) cast(ctx, {.x = product.c, .y = a.c});
}

}  // namespace weft::cpu
