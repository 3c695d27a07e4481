// tests/bench/ops_bench.cpp: Google Benchmark of each op in a training step of the base model.
//
//   OMP_NUM_THREADS=2 build/ops_bench --benchmark_filter='gemm/.*bf16' --benchmark_repetitions=5
//
// GFLOP/s count the necessary operations, GB/s the bytes that must be read and written once. All runs use the
// same operands, so those that fit into a cache stay there.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <functional>
#include <string>
#include <vector>

#include "tensor/memory.h"
#include "tensor/ops.h"
#include "tensor/random.h"
#include "tests/support/sequence_ranges.h"
#include "trainer/bench/synthetic_step.h"

namespace weft {
namespace {

constexpr int64_t kRows = 1536, kWidth = 512, kFeedForward = 2048, kVocabulary = 8000, kHeads = 8;
constexpr int64_t kLongest = 128;
constexpr StepScalars kScalars{.step = 1, .lr = 1e-4f};
constexpr Dropout kDropout{.rate = 0.1f, .seed = 1, .purpose = 1, .row_stride = kFeedForward, .scalars = &kScalars};

struct Work {  // cost of one run of an op; 0 = not counted
  double flops = 0, bytes = 0;
};

class Operands {  // memory of one benchmark
 public:
  explicit Operands(DType dtype) : dtype_(dtype) {}
  Context ctx;

  Tensor random(Shape shape) { return random(shape, dtype_); }
  Tensor random(Shape shape, DType dtype) {
    Tensor wide = add(shape, DType::f32);
    for (int64_t i = 0; i < wide.numel(); ++i)
      wide.ptr<float>()[i] = uniform_from_bits(random_bits(1, static_cast<uint64_t>(i), 0, 0)) - 0.5f;
    if (dtype == DType::f32) return wide;
    const Tensor narrow = add(shape, dtype);
    ops::cast(ctx, {.x = wide, .y = narrow});
    return narrow;
  }
  Tensor like(Shape shape) { return add(shape, dtype_); }
  Tensor floats(Shape shape) { return add(shape, DType::f32); }
  Tensor ints(const std::vector<int32_t>& values) {
    const Tensor t = add({static_cast<int64_t>(values.size())}, DType::i32);
    std::copy(values.begin(), values.end(), t.ptr<int32_t>());
    return t;
  }
  ops::Weight weight(int64_t out, int64_t in) {  // with its packed layouts, if GEMMs read them
    ops::Weight w = random({out, in});
    if (ops::packed_numel(Device::cpu, dtype_, in, out) == 0) return w;
    w.packed_forward = add({ops::packed_numel(Device::cpu, dtype_, in, out)}, dtype_);
    w.packed_backward = add({ops::packed_numel(Device::cpu, dtype_, out, in)}, dtype_);
    ops::pack_weight(ctx, {.weight = w});
    return w;
  }
  double bytes(const Tensor& t, double times) const { return times * static_cast<double>(t.bytes()); }

 private:
  Tensor add(Shape shape, DType dtype) {
    buffers_.emplace_back(static_cast<size_t>(shape.numel()) * size_of(dtype));
    return buffers_.back().tensor(shape, dtype);
  }
  DType dtype_;
  std::vector<Buffer> buffers_;
};

using Run = std::function<void(Context&)>;
using Prepare = std::function<Run(Operands&, Work&)>;  // makes operands, sets the cost, returns the run

void measure(benchmark::State& state, DType dtype, const Prepare& prepare) {
  Operands operands(dtype);
  Work work;
  const Run run = prepare(operands, work);
  run(operands.ctx);  // warm-up: allocates plans and scratch memory
  for (auto _ : state) run(operands.ctx);
  const auto rate = [&](double amount) {
    return benchmark::Counter(amount * static_cast<double>(state.iterations()) / 1e9, benchmark::Counter::kIsRate);
  };
  if (work.flops > 0) state.counters["GFLOP/s"] = rate(work.flops);
  if (work.bytes > 0) state.counters["GB/s"] = rate(work.bytes);
}

void add(const std::string& name, const Prepare& prepare) {
  for (const auto& [dtype, suffix] : {std::pair{DType::f32, "f32"}, std::pair{DType::bf16, "bf16"}}) {
    const auto body = [prepare, dtype = dtype](benchmark::State& state) { measure(state, dtype, prepare); };
    benchmark::RegisterBenchmark((name + "/" + suffix).c_str(), body)->UseRealTime()->Unit(benchmark::kMicrosecond);
  }
}

// y = x W^T; d_x = d_y W; d_W += d_y^T x, with W [out, in].
void add_linear(const std::string& layer, int64_t in, int64_t out) {
  const double flops = 2.0 * static_cast<double>(kRows * in * out);
  add("gemm/" + layer + "/forward", [=](Operands& o, Work& work) -> Run {
    work.flops = flops;
    ops::Gemm gemm{.a = o.random({kRows, in}), .b = o.weight(out, in), .c = o.like({kRows, out}), .trans_b = true};
    return [=](Context& ctx) { ops::gemm(ctx, gemm); };
  });
  add("gemm/" + layer + "/input_gradient", [=](Operands& o, Work& work) -> Run {
    work.flops = flops;
    ops::Gemm gemm{.a = o.random({kRows, out}), .b = o.weight(out, in), .c = o.like({kRows, in})};
    return [=](Context& ctx) { ops::gemm(ctx, gemm); };
  });
  add("gemm/" + layer + "/weight_gradient", [=](Operands& o, Work& work) -> Run {
    work.flops = flops;
    const ops::Gemm gemm{.a = o.random({kRows, out}),
                         .b = o.random({kRows, in}),
                         .c = o.floats({out, in}),
                         .trans_a = true,
                         .accumulate = true};
    return [=](Context& ctx) { ops::gemm(ctx, gemm); };
  });
}

struct Sentences {  // of a block, without gaps
  ops::SequenceRanges ranges;
  double scores = 0;  // pairs of a query and a visible key
};

Sentences wmt_like_sentences(Operands& o, bool causal) {
  testing::SentenceRows rows;
  Sentences found;
  int32_t filled = 0;
  for (int64_t pair = 0;; ++pair) {
    const int32_t length = synthetic_length(/*seed=*/1, pair, kLongest - 1).target + 1;  // with its eos
    if (filled + length > kRows) break;
    rows.emplace_back(filled, filled + length);
    filled += length;
    found.scores += causal ? 0.5 * length * (length + 1) : 1.0 * length * length;
  }
  found.ranges = testing::sequence_ranges(rows, kRows, rows, [&](const auto& values) { return o.ints(values); });
  found.ranges.longest = kLongest;
  return found;
}

void add_attention(const std::string& name, bool causal, int64_t kv_heads) {
  const auto prepare = [causal, kv_heads](bool backward) -> Prepare {
    return [causal, kv_heads, backward](Operands& o, Work& work) -> Run {
      const Sentences s = wmt_like_sentences(o, causal);
      work.flops = (backward ? 10.0 : 4.0) * s.scores * kWidth;  // matmuls with scores: two forward, five backward
      const int64_t kv_width = kWidth / kHeads * kv_heads;
      const Tensor qkv = o.random({kRows, kWidth + 2 * kv_width});
      const auto part = [kv_width](const Tensor& t, int64_t i) {
        return i == 0 ? t.slice_cols(0, kWidth) : t.slice_cols(kWidth + (i - 1) * kv_width, kv_width);
      };
      const float scale = 1.0f / 8.0f;  // head size 64
      Dropout dropout = kDropout;
      dropout.row_stride = kRows;
      const ops::AttentionForward forward{.q = part(qkv, 0),
                                          .k = part(qkv, 1),
                                          .v = part(qkv, 2),
                                          .q_rows = s.ranges,
                                          .k_rows = s.ranges,
                                          .y = o.like({kRows, kWidth}),
                                          .lse = o.floats({kHeads, kRows}),
                                          .heads = kHeads,
                                          .kv_heads = kv_heads,
                                          .causal = causal,
                                          .scale = scale,
                                          .dropout = dropout};
      if (!backward) return [=](Context& ctx) { ops::attention_forward(ctx, forward); };
      ops::attention_forward(o.ctx, forward);
      const Tensor d_qkv = o.like(qkv.shape);
      const ops::AttentionBackward args{.q = forward.q,
                                        .k = forward.k,
                                        .v = forward.v,
                                        .q_rows = s.ranges,
                                        .k_rows = s.ranges,
                                        .y = forward.y,
                                        .lse = forward.lse,
                                        .d_y = o.random({kRows, kWidth}),
                                        .d_q = part(d_qkv, 0),
                                        .d_k = part(d_qkv, 1),
                                        .d_v = part(d_qkv, 2),
                                        .heads = kHeads,
                                        .kv_heads = kv_heads,
                                        .causal = causal,
                                        .scale = scale,
                                        .dropout = dropout};
      return [=](Context& ctx) { ops::attention_backward(ctx, args); };
    };
  };
  add("attention/" + name + "/forward", prepare(false));
  add("attention/" + name + "/backward", prepare(true));
}

void add_normalization() {
  add("layer_norm/forward", [](Operands& o, Work& work) -> Run {
    const ops::NormForward args{.x = o.random({kRows, kWidth}),
                                .gamma = o.floats({kWidth}),
                                .beta = o.floats({kWidth}),
                                .y = o.like({kRows, kWidth}),
                                .mean = o.floats({kRows}),
                                .rstd = o.floats({kRows})};
    work.bytes = o.bytes(args.x, 2);
    return [=](Context& ctx) { ops::norm_forward(ctx, args); };
  });
  add("layer_norm/backward", [](Operands& o, Work& work) -> Run {
    const ops::NormBackward args{.d_y = o.random({kRows, kWidth}),
                                 .x = o.random({kRows, kWidth}),
                                 .gamma = o.floats({kWidth}),
                                 .mean = o.floats({kRows}),
                                 .rstd = o.floats({kRows}),
                                 .d_x = o.like({kRows, kWidth}),
                                 .d_gamma = o.floats({kWidth}),
                                 .d_beta = o.floats({kWidth}),
                                 .partial = o.floats({ops::kNormPartials, 2, kWidth})};
    work.bytes = o.bytes(args.x, 3);
    return [=](Context& ctx) { ops::norm_backward(ctx, args); };
  });
  add("residual_norm/forward", [](Operands& o, Work& work) -> Run {
    const ops::ResidualNormForward args{.residual = o.random({kRows, kWidth}),
                                        .x = o.random({kRows, kWidth}),
                                        .bias = o.floats({kWidth}),
                                        .gamma = o.floats({kWidth}),
                                        .beta = o.floats({kWidth}),
                                        .h = o.like({kRows, kWidth}),
                                        .y = o.like({kRows, kWidth}),
                                        .mean = o.floats({kRows}),
                                        .rstd = o.floats({kRows}),
                                        .dropout = kDropout};
    work.bytes = o.bytes(args.x, 4);
    return [=](Context& ctx) { ops::residual_norm_forward(ctx, args); };
  });
  add("residual_norm/backward", [](Operands& o, Work& work) -> Run {
    const ops::ResidualNormBackward args{.d_y = o.random({kRows, kWidth}),
                                         .h = o.random({kRows, kWidth}),
                                         .gamma = o.floats({kWidth}),
                                         .mean = o.floats({kRows}),
                                         .rstd = o.floats({kRows}),
                                         .d_h = o.like({kRows, kWidth}),
                                         .d_x = o.like({kRows, kWidth}),
                                         .d_gamma = o.floats({kWidth}),
                                         .d_beta = o.floats({kWidth}),
                                         .d_bias = o.floats({kWidth}),
                                         .partial = o.floats({ops::kNormPartials, 3, kWidth}),
                                         .dropout = kDropout};
    work.bytes = o.bytes(args.h, 4);
    return [=](Context& ctx) { ops::residual_norm_backward(ctx, args); };
  });
}

void add_pointwise() {
  add("dropout_add/forward", [](Operands& o, Work& work) -> Run {
    const ops::DropoutAddForward args{.residual = o.random({kRows, kWidth}),
                                      .x = o.random({kRows, kWidth}),
                                      .bias = o.floats({kWidth}),
                                      .y = o.like({kRows, kWidth}),
                                      .dropout = kDropout};
    work.bytes = o.bytes(args.x, 3);
    return [=](Context& ctx) { ops::dropout_add_forward(ctx, args); };
  });
  add("dropout/backward", [](Operands& o, Work& work) -> Run {
    const ops::DropoutBackward args{
        .d_y = o.random({kRows, kWidth}), .d_x = o.like({kRows, kWidth}), .dropout = kDropout};
    work.bytes = o.bytes(args.d_y, 2);
    return [=](Context& ctx) { ops::dropout_backward(ctx, args); };
  });
  for (const auto& [kind, name] : {std::pair{Activation::relu, "relu"}, std::pair{Activation::gelu, "gelu"}}) {
    add(std::string(name) + "/forward", [kind = kind](Operands& o, Work& work) -> Run {
      const ops::ActivationForward args{o.random({kRows, kFeedForward}), o.like({kRows, kFeedForward}), kind, kDropout};
      work.bytes = o.bytes(args.x, 2);
      return [=](Context& ctx) { ops::activation_forward(ctx, args); };
    });
    add(std::string(name) + "/backward", [kind = kind](Operands& o, Work& work) -> Run {
      const Tensor x = o.random({kRows, kFeedForward}), y = o.like({kRows, kFeedForward});
      ops::activation_forward(o.ctx, {.x = x, .y = y, .kind = kind, .dropout = kDropout});
      const ops::ActivationBackward args{.x = x,
                                         .y = y,
                                         .d_y = o.random({kRows, kFeedForward}),
                                         .d_x = o.like({kRows, kFeedForward}),
                                         .kind = kind,
                                         .dropout = kDropout};
      work.bytes = o.bytes(x, 3);
      return [=](Context& ctx) { ops::activation_backward(ctx, args); };
    });
  }
}

void add_loss() {
  add("cross_entropy/statistics_and_gradient", [](Operands& o, Work& work) -> Run {
    std::vector<int32_t> wanted;
    for (int32_t row = 0; row < kRows; ++row) wanted.push_back(row * 5 % kVocabulary);
    const Tensor logits = o.random({kRows, kVocabulary}), targets = o.ints(wanted), stats = o.floats({1, kRows, 4});
    const ops::SoftmaxStats first{
        .logits = logits, .targets = targets, .valid = kVocabulary, .stats = stats.with_shape({kRows, 4})};
    const ops::CrossEntropy second{.logits = logits,
                                   .targets = targets,
                                   .stats = stats,
                                   .valid = kVocabulary,
                                   .vocabulary = kVocabulary,
                                   .smoothing = 0.1f,
                                   .scalars = &kScalars,
                                   .loss = o.floats({kRows}),
                                   .nll = o.floats({kRows})};
    work.bytes = o.bytes(logits, 3);
    return [=](Context& ctx) { ops::softmax_stats(ctx, first), ops::cross_entropy(ctx, second); };
  });
}

void add_update() {  // f32 always; in mixed precision it also writes the rounded copy
  for (const bool copy : {false, true}) {
    const auto prepare = [copy](Operands& o, Work& work) -> Run {
      const Shape all{int64_t{16} << 20};
      ops::Update args{.param = o.random(all, DType::f32),
                       .grad = o.random(all, DType::f32),
                       .first = o.floats(all),
                       .second = o.floats(all),
                       .scalars = &kScalars};
      if (copy) args.copy = o.like(all);
      work.bytes = o.bytes(args.param, copy ? 7.5 : 7);
      return [=](Context& ctx) { ops::update(ctx, args); };
    };
    const DType dtype = copy ? DType::bf16 : DType::f32;
    const auto body = [=](benchmark::State& state) { measure(state, dtype, prepare); };
    benchmark::RegisterBenchmark(copy ? "adam/bf16" : "adam/f32", body)->UseRealTime()->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  using namespace weft;
  set_num_threads(omp_get_max_threads());
  add_linear("projection", kWidth, kWidth);
  add_linear("feed_forward_up", kWidth, kFeedForward);
  add_linear("output", kWidth, kVocabulary);
  add_attention("self", /*causal=*/false, kHeads);
  add_attention("causal", /*causal=*/true, kHeads);
  add_attention("grouped", /*causal=*/true, kHeads / 4);
  add_normalization();
  add_pointwise();
  add_loss();
  add_update();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("processor", cpu_description());
  benchmark::AddCustomContext("threads", std::to_string(num_threads()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
