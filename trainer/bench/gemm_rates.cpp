// trainer/bench/gemm_rates.cpp: times the GEMMs of a step, each with its own operands.
#include "trainer/bench/gemm_rates.h"

#include <algorithm>

#include "parallel/tensor_parallel.h"
#include "tensor/memory.h"
#include "tensor/ops.h"
#include "tensor/random.h"
#include "trainer/precision.h"
#include "trainer/step/repeat.h"

namespace weft {
namespace {

// With W [out, in], x [R, in] and d_y [R, out], forward is x W^T, and the gradients of x and W are d_y W and d_y^T x.
void add_layer(std::vector<Product>& all, const char* layer, int64_t rows, int64_t out, int64_t in, bool bias) {
  all.push_back({layer, ProductPass::forward, rows, out, in, bias});
  all.push_back({layer, ProductPass::input_gradient, rows, in, out});
  all.push_back({layer, ProductPass::weight_gradient, out, in, rows});
}

class Operands {
 public:
  Operands(Context& ctx, const Product& p, DType dtype)
      : a_shape_(p.pass == ProductPass::weight_gradient ? Shape{p.k, p.m} : Shape{p.m, p.k}),
        b_shape_(p.pass == ProductPass::forward ? Shape{p.n, p.k} : Shape{p.k, p.n}),
        c_dtype_(p.pass == ProductPass::weight_gradient ? DType::f32 : dtype),
        dtype_(dtype),
        a_(bytes(a_shape_, dtype), ctx.device()),
        b_(bytes(b_shape_, dtype), ctx.device()),
        c_(bytes({p.m, p.n}, c_dtype_), ctx.device()),
        bias_(bytes({p.n}, DType::f32), ctx.device()) {
    fill(ctx, a_.tensor(a_shape_, dtype));
    fill(ctx, b_.tensor(b_shape_, dtype));
    weight_.matrix = b_.tensor(b_shape_, dtype);
    const int64_t packed =
        p.pass == ProductPass::weight_gradient ? 0 : ops::packed_numel(ctx.device(), dtype, p.k, p.n);
    if (packed == 0) return;
    packed_ = Buffer(static_cast<size_t>(packed) * size_of(dtype), ctx.device());
    (p.pass == ProductPass::forward ? weight_.packed_forward : weight_.packed_backward) =
        packed_.tensor({packed}, dtype);
    ops::pack_weight(ctx, {.weight = weight_});
  }

  void multiply(Context& ctx, const Product& p) const {
    const bool weight_gradient = p.pass == ProductPass::weight_gradient;
    ops::gemm(ctx, {.a = a_.tensor(a_shape_, dtype_),
                    .b = weight_,
                    .c = c_.tensor({p.m, p.n}, c_dtype_),
                    .trans_a = weight_gradient,
                    .trans_b = p.pass == ProductPass::forward,
                    .bias = p.bias ? bias_.tensor({p.n}) : Tensor{},
                    .accumulate = weight_gradient});
  }

 private:
  static size_t bytes(const Shape& shape, DType dtype) { return static_cast<size_t>(shape.numel()) * size_of(dtype); }
  static void fill(Context& ctx, const Tensor& x) {  // random values, because zeros might make processors faster
    const Buffer wide(bytes(x.shape, DType::f32), ctx.device());
    ops::init(ctx, {.x = wide.tensor(x.shape),
                    .outer = x.numel(),
                    .kind = ops::Init::Kind::uniform,
                    .value = 1,
                    .purpose = purpose_of("bench.operand")});
    ops::cast(ctx, {.x = wide.tensor(x.shape), .y = x});
    ctx.synchronize();
  }

  Shape a_shape_, b_shape_;
  DType c_dtype_, dtype_;
  Buffer a_, b_, c_, bias_, packed_;
  ops::Weight weight_;  // matrix b, in the layout that the model's GEMMs read
};

}  // namespace

std::vector<Product> products_of(const RunConfig& c) {
  const ModelConfig& m = c.model;
  const int64_t tp = c.parallel.tp, source = c.batch.source_rows, target = c.batch.rows;
  const int64_t queries = m.width / tp, keys = m.num_kv_heads() * m.head_size() / tp, hidden = m.feed_forward / tp;
  const int64_t vocabulary = VocabularyRange::of(m.target_vocabulary, 0, static_cast<int>(tp)).columns;
  std::vector<Product> all;
  add_layer(all, "projection", target, m.width, queries, false);  // attention output; a later op adds the bias
  if (m.num_kv_heads() == m.heads) {
    add_layer(all, "qkv", target, 3 * queries, m.width, m.bias_attention);
  } else {
    add_layer(all, "q", target, queries, m.width, m.bias_attention);
    add_layer(all, "kv", target, 2 * keys, m.width, m.bias_attention);
  }
  add_layer(all, "cross kv", source, 2 * keys, m.width, m.bias_attention);
  add_layer(all, "ffn up", target, (is_gated(m.activation) ? 2 : 1) * hidden, m.width, m.bias_feed_forward);
  add_layer(all, "ffn down", target, m.width, hidden, false);
  add_layer(all, "head", target, vocabulary, m.width, m.bias_output);
  return all;
}

std::vector<GemmRate> measure_products(const RunConfig& config, Communicator& world, Context& ctx, double seconds) {
  const std::vector<Product> products = products_of(config);
  const double each = seconds / static_cast<double>(products.size());
  std::vector<GemmRate> rates;
  for (const Product& product : products) {
    const Operands operands(ctx, product, storage_of(config.train.precision));
    const Times times = repeat_in_batches(world, ctx, each, [&] { operands.multiply(ctx, product); });
    rates.push_back({product, product.flops() / times.best(), product.flops() / times.median()});
  }
  return rates;
}

std::vector<PeakRate> measure_square_products(Context& ctx, double seconds) {
  constexpr int64_t kSmallest = 128, kLargest = 8192;
  constexpr double kLongEnough = 0.01;  // seconds per GEMM; the rate hardly increases further with the size
  constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16};
  constexpr int kMaxProducts = 3 * 7;  // 3 types, up to 7 sizes
  const auto alone = make_single_communicator();
  std::vector<PeakRate> peaks;
  for (const DType dtype : kTypes) {
    PeakRate peak{.instruction = "square matrix product", .dtype = dtype, .flops_per_second = 0};
    double took = 0;
    for (int64_t n = kSmallest; n <= kLargest && took < kLongEnough; n *= 2) {
      const Product square{.layer = "square", .m = n, .n = n, .k = n};
      const Operands operands(ctx, square, dtype);
      const auto multiply = [&] { operands.multiply(ctx, square); };
      took = repeat_in_batches(*alone, ctx, seconds / kMaxProducts, multiply).best();
      peak.flops_per_second = std::max(peak.flops_per_second, square.flops() / took);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace weft
