// tests/tensor/storage_test.cpp: every op on bf16 and f16 gives the f32 op's results for the same values,
// rounded once.
//
// Other tests compare the f32 ops with definitions in double. Arithmetic is f32 for every storage type, so
// these tests allow only one rounding of each output: a difference of at most one unit in the last place.
#include "tensor/cpu/runtime.h"
#include "tensor/error.h"
#include "tensor/half.h"
#include "tests/support/sequence_ranges.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

class Storage : public ::testing::TestWithParam<DType> {
 protected:
  DType type() const { return GetParam(); }
  // Relative spacing of neighbours.
  double unit() const { return type() == DType::bf16 ? 0x1p-7 : 0x1p-10; }

  // A half-precision tensor of random values and its exact f32 copy: the inputs of the two runs.
  struct Pair {
    Tensor half, full;
  };
  Pair random(Shape shape, float scale = 1) {
    const Tensor half = halves(shape), full = w_.zeros(shape);
    ops::cast(w_.ctx, {.x = w_.random(shape, scale), .y = half});
    ops::cast(w_.ctx, {.x = half, .y = full});
    return {half, full};
  }
  Pair outputs(Shape shape) { return {halves(shape), w_.nans(shape)}; }
  Tensor halves(Shape shape) {
    buffers_.emplace_back(static_cast<size_t>(shape.numel()) * 2 + 64);
    const Tensor t = buffers_.back().tensor(shape, type());
    std::memset(t.data, 0xFF, t.bytes());  // NaN until written
    return t;
  }

  void cross_entropy_in_place(int64_t vocabulary, int64_t padded) {
    const int64_t rows = 6;
    const Pair logits = random({rows, padded}, 4);
    const Tensor targets = w_.ints({0, static_cast<int32_t>(vocabulary) - 1, -1, 7, 64, 63});
    Tensor losses[2];
    const StepScalars scalars{.loss_scale = 100};
    for (const bool half : {true, false}) {
      const Tensor x = half ? logits.half : logits.full, stats = w_.nans({1, rows, 4});
      const Tensor loss = w_.nans({rows}), nll = w_.nans({rows});
      ops::softmax_stats(w_.ctx,
                         {.logits = x, .targets = targets, .valid = vocabulary, .stats = stats.with_shape({rows, 4})});
      ops::cross_entropy(w_.ctx, {.logits = x,
                                  .targets = targets,
                                  .stats = stats,
                                  .valid = vocabulary,
                                  .vocabulary = vocabulary,
                                  .smoothing = 0.1f,
                                  .scalars = &scalars,
                                  .loss = loss,
                                  .nll = nll});
      losses[half] = loss;
    }
    expect_near(losses[1], losses[0], "loss");
    expect_rounded(logits, "gradient");
  }

  void expect_rounded(const Pair& p, const char* what) {
    const Tensor widened = w_.nans(p.half.shape);
    ops::cast(w_.ctx, {.x = p.half, .y = widened});
    const std::vector<float> got = values(widened), want = values(p.full);
    for (size_t i = 0; i < want.size(); ++i) {
      const double tolerance = unit() * std::max<double>(std::abs(want[i]), 1e-3);
      ASSERT_NEAR(got[i], want[i], tolerance) << what << "[" << i << "]";
    }
  }
  void expect_near(const Tensor& got, const Tensor& want, const char* what) {
    const std::vector<float> a = values(got), b = values(want);
    for (size_t i = 0; i < b.size(); ++i)
      ASSERT_NEAR(a[i], b[i], 1e-5 * (1 + std::abs(static_cast<double>(b[i])))) << what << "[" << i << "]";
  }

  Workspace w_;
  std::vector<Buffer> buffers_;
};

TEST_P(Storage, GemmOfEveryKind) {
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      SCOPED_TRACE(fmt::format("trans_a {} trans_b {}", trans_a, trans_b));
      const int64_t m = 33, n = 47, k = 64;
      const Pair a = random(trans_a ? Shape{k, m} : Shape{m, k}), b = random(trans_b ? Shape{n, k} : Shape{k, n});
      const Tensor bias = w_.random({n});
      const Pair c = outputs({m, n});
      ops::gemm(w_.ctx, {.a = a.half, .b = b.half, .c = c.half, .trans_a = trans_a, .trans_b = trans_b, .bias = bias});
      ops::gemm(w_.ctx, {.a = a.full, .b = b.full, .c = c.full, .trans_a = trans_a, .trans_b = trans_b, .bias = bias});
      expect_rounded(c, "c");
      const Tensor sum = w_.filled({m, n}, 2), want = w_.filled({m, n}, 2);
      for (const auto& [x, y, z] : {std::tuple{a.half, b.half, sum}, {a.full, b.full, want}})
        ops::gemm(w_.ctx, {.a = x, .b = y, .c = z, .trans_a = trans_a, .trans_b = trans_b, .accumulate = true});
      expect_near(sum, want, "accumulated in f32");
      const Pair added = random({m, n});
      ops::gemm(
          w_.ctx,
          {.a = a.half, .b = b.half, .c = added.half, .trans_a = trans_a, .trans_b = trans_b, .accumulate = true});
      ops::gemm(
          w_.ctx,
          {.a = a.full, .b = b.full, .c = added.full, .trans_a = trans_a, .trans_b = trans_b, .accumulate = true});
      expect_rounded(added, "accumulated in halves");
    }
  }
}

TEST_P(Storage, Elementwise) {
  const Pair x = random({7, 37}), d_y = random({7, 37}), residual = random({7, 37});
  const Tensor bias = w_.random({37});
  for (const Activation kind : {Activation::relu, Activation::gelu, Activation::gelu_tanh}) {
    const Pair y = outputs({7, 37}), d_x = outputs({7, 37});
    ops::activation_forward(w_.ctx, {.x = x.half, .y = y.half, .kind = kind, .dropout = kTestDropout});
    ops::activation_forward(w_.ctx, {.x = x.full, .y = y.full, .kind = kind, .dropout = kTestDropout});
    expect_rounded(y, "activation");
    ops::activation_backward(
        w_.ctx, {.x = x.half, .y = y.half, .d_y = d_y.half, .d_x = d_x.half, .kind = kind, .dropout = kTestDropout});
    ops::activation_backward(
        w_.ctx, {.x = x.full, .y = y.full, .d_y = d_y.full, .d_x = d_x.full, .kind = kind, .dropout = kTestDropout});
    expect_rounded(d_x, "its gradient");
  }
  const Pair y = outputs({7, 37}), d_x = outputs({7, 37});
  ops::dropout_add_forward(
      w_.ctx, {.residual = residual.half, .x = x.half, .bias = bias, .y = y.half, .dropout = kTestDropout});
  ops::dropout_add_forward(
      w_.ctx, {.residual = residual.full, .x = x.full, .bias = bias, .y = y.full, .dropout = kTestDropout});
  expect_rounded(y, "dropout_add");
  ops::dropout_backward(w_.ctx, {.d_y = d_y.half, .d_x = d_x.half, .dropout = kTestDropout});
  ops::dropout_backward(w_.ctx, {.d_y = d_y.full, .d_x = d_x.full, .dropout = kTestDropout});
  expect_rounded(d_x, "dropout_backward");
  const Pair sum = random({7, 37});
  ops::add(w_.ctx, {.x = x.half, .y = sum.half});
  ops::add(w_.ctx, {.x = x.full, .y = sum.full});
  expect_rounded(sum, "add");
  const Pair sum_of_f32 = random({7, 37});
  ops::add(w_.ctx, {.x = x.full, .y = sum_of_f32.half});
  ops::add(w_.ctx, {.x = x.full, .y = sum_of_f32.full});
  expect_rounded(sum_of_f32, "add of f32");
  const Tensor columns = w_.filled({37}, 1), want = w_.filled({37}, 1);
  ops::column_sum(w_.ctx, {.x = x.half, .y = columns});
  ops::column_sum(w_.ctx, {.x = x.full, .y = want});
  expect_near(columns, want, "column_sum");
}

TEST_P(Storage, LayerNorm) {
  const int64_t rows = 9, cols = 50;
  const Pair x = random({rows, cols}), d_y = random({rows, cols}), residual = random({rows, cols});
  const Pair y = outputs({rows, cols}), d_x = outputs({rows, cols});
  const Tensor gamma = w_.random({cols}), beta = w_.random({cols});
  Tensor means[2], gradients[2];
  for (const bool half : {false, true}) {
    const auto of = [&](const Pair& p) { return half ? p.half : p.full; };
    const Tensor mean = w_.nans({rows}), rstd = w_.nans({rows}), d_gamma = w_.zeros({cols}), d_beta = w_.zeros({cols});
    ops::norm_forward(w_.ctx, {.x = of(x), .gamma = gamma, .beta = beta, .y = of(y), .mean = mean, .rstd = rstd});
    ops::norm_backward(w_.ctx, {.d_y = of(d_y),
                                .x = of(x),
                                .gamma = gamma,
                                .mean = mean,
                                .rstd = rstd,
                                .d_residual = of(residual),
                                .d_x = of(d_x),
                                .d_gamma = d_gamma,
                                .d_beta = d_beta,
                                .partial = w_.nans({ops::kNormPartials, 2, cols})});
    means[half] = mean, gradients[half] = d_gamma;
  }
  expect_rounded(y, "y");
  expect_rounded(d_x, "d_x");
  expect_near(means[1], means[0], "mean");
  expect_near(gradients[1], gradients[0], "d_gamma");
}

TEST_P(Storage, EmbeddingAndPositions) {
  const Tensor ids = w_.ints({2, 0, -1, 4, 2}), positions = w_.ints({0, 1, 0, 2, 3}), sines = w_.random({4, 21});
  const Pair table = random({5, 21}), looked_up = outputs({5, 21}), y = outputs({5, 21}), d_y = random({5, 21});
  ops::embedding_forward(w_.ctx, {.ids = ids, .table = table.half, .scale = 3, .y = looked_up.half});
  ops::embedding_forward(w_.ctx, {.ids = ids, .table = table.full, .scale = 3, .y = looked_up.full});
  expect_rounded(looked_up, "look-up");
  ops::cast(w_.ctx, {.x = looked_up.half, .y = looked_up.full});
  ops::add_positions(
      w_.ctx, {.x = looked_up.half, .positions = positions, .table = sines, .y = y.half, .dropout = kTestDropout});
  ops::add_positions(
      w_.ctx, {.x = looked_up.full, .positions = positions, .table = sines, .y = y.full, .dropout = kTestDropout});
  expect_rounded(y, "positions");
  const Tensor got = w_.filled({5, 21}, 1), want = w_.filled({5, 21}, 1);
  const ops::SortedIds sorted = w_.sorted({2, 0, -1, 4, 2});
  ops::embedding_backward(w_.ctx, {.sorted = sorted, .d_y = d_y.half, .scale = 3, .d_table = got});
  ops::embedding_backward(w_.ctx, {.sorted = sorted, .d_y = d_y.full, .scale = 3, .d_table = want});
  expect_near(got, want, "d_table");
}

TEST_P(Storage, AttentionOfEveryTile) {
  cpu::runtime(w_.ctx).use_tiles(false);  // AMX rounds more; attention_tiles_test.cpp
  struct Case {
    int64_t heads, kv_heads, size;
    bool causal;
  };
  for (const auto& [heads, kv_heads, size, causal] :
       {Case{1, 1, 1, true}, {2, 2, 16, false}, {2, 2, 16, true}, {1, 1, 17, true}, {4, 2, 16, true}}) {
    SCOPED_TRACE(fmt::format("heads {} of {} size {} causal {}", heads, kv_heads, size, causal));
    const int64_t rows = 75;  // a sentence of three tiles, one of one token, unused rows
    const Shape queries{rows, heads * size}, keys{rows, kv_heads * size};
    const Pair q = random(queries), k = random(keys), v = random(keys), d_y = random(queries);
    const Pair y = outputs(queries), d_q = outputs(queries), d_k = outputs(keys), d_v = outputs(keys);
    const Tensor lse = w_.nans({heads, rows});
    const SentenceRows sentences{{0, 70}, {70, 71}, {71, 73}};
    const ops::SequenceRanges ranges =
        sequence_ranges(sentences, rows, sentences, [&](const auto& values) { return w_.ints(values); });
    const Dropout dropout{.rate = 0.2f, .seed = 1, .purpose = 3, .row_stride = rows, .scalars = &kTestScalars};
    for (const bool half : {true, false}) {
      const auto of = [&](const Pair& p) { return half ? p.half : p.full; };
      ops::attention_forward(w_.ctx, {.q = of(q),
                                      .k = of(k),
                                      .v = of(v),
                                      .q_rows = ranges,
                                      .k_rows = ranges,
                                      .y = of(y),
                                      .lse = lse,
                                      .heads = heads,
                                      .kv_heads = kv_heads,
                                      .causal = causal,
                                      .scale = 0.5f,
                                      .dropout = dropout});
    }
    expect_rounded(y, "y");
    ops::cast(w_.ctx, {.x = y.half, .y = y.full});  // backward reads the same y
    for (const bool half : {true, false}) {
      const auto of = [&](const Pair& p) { return half ? p.half : p.full; };
      ops::attention_backward(w_.ctx, {.q = of(q),
                                       .k = of(k),
                                       .v = of(v),
                                       .q_rows = ranges,
                                       .k_rows = ranges,
                                       .y = of(y),
                                       .lse = lse,
                                       .d_y = of(d_y),
                                       .d_q = of(d_q),
                                       .d_k = of(d_k),
                                       .d_v = of(d_v),
                                       .heads = heads,
                                       .kv_heads = kv_heads,
                                       .causal = causal,
                                       .scale = 0.5f,
                                       .dropout = dropout});
    }
    expect_rounded(d_q, "d_q");
    expect_rounded(d_k, "d_k");
    expect_rounded(d_v, "d_v");
  }
}

TEST_P(Storage, CrossEntropyInPlace) {
  for (const auto& [vocabulary, padded] : {std::pair<int64_t, int64_t>{150, 152}, {149, 149}, {9001, 9008}}) {
    SCOPED_TRACE(vocabulary);
    cross_entropy_in_place(vocabulary, padded);
  }
}

TEST_P(Storage, RowsAndBestColumns) {
  const Pair x = random({6, 90});
  const Tensor rows = w_.ints({5, 0, 3});
  const Pair gathered = outputs({3, 90}), scattered = random({8, 90});
  ops::gather_rows(w_.ctx, {.x = x.half, .rows = rows, .y = gathered.half});
  ops::gather_rows(w_.ctx, {.x = x.full, .rows = rows, .y = gathered.full});
  expect_rounded(gathered, "gathered");
  ops::scatter_rows(w_.ctx, {.x = gathered.half, .rows = rows, .y = scattered.half});
  ops::scatter_rows(w_.ctx, {.x = gathered.full, .rows = rows, .y = scattered.full});
  expect_rounded(scattered, "scattered");
  const Tensor values_half = w_.nans({6, 5}), values_full = w_.nans({6, 5});
  const Tensor columns_half = w_.ints(std::vector<int32_t>(30)), columns_full = w_.ints(std::vector<int32_t>(30));
  ops::top_k(w_.ctx, {.x = x.half, .valid = 88, .values = values_half, .columns = columns_half.with_shape({6, 5})});
  ops::top_k(w_.ctx, {.x = x.full, .valid = 88, .values = values_full, .columns = columns_full.with_shape({6, 5})});
  EXPECT_EQ(values(values_half), values(values_full));
  EXPECT_EQ(values<int32_t>(columns_half), values<int32_t>(columns_full));
}

TEST_P(Storage, AdamWritesTheRoundedParameters) {
  const int64_t n = 100;
  const Tensor param = w_.random({n}), grad = w_.random({n}), m = w_.zeros({n}), v = w_.zeros({n});
  const Pair copy{halves({n}), param};
  const StepScalars scalars{.lr = 0.1f};
  ops::update(w_.ctx, {.param = param, .grad = grad, .first = m, .second = v, .copy = copy.half, .scalars = &scalars});
  expect_rounded(copy, "copy");
  const Tensor average = w_.zeros({n});
  const StepScalars still{.lr = 0, .average_rate = 1};
  ops::update(w_.ctx, {.param = param,
                       .grad = grad,
                       .first = m,
                       .second = v,
                       .copy = copy.half,
                       .average = average,
                       .scalars = &still});
  EXPECT_EQ(values(average), values(param));
}

TEST_P(Storage, MixedWithAnotherIsRefused) {
  EXPECT_THROW(ops::add(w_.ctx, {.x = halves({3}), .y = w_.zeros({3})}), Error);
  EXPECT_THROW(ops::gemm(w_.ctx, {.a = halves({2, 2}), .b = w_.zeros({2, 2}), .c = w_.zeros({2, 2})}), Error);
}

INSTANTIATE_TEST_SUITE_P(Halves, Storage, ::testing::Values(DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace weft::testing
