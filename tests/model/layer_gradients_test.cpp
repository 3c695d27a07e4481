// tests/model/layer_gradients_test.cpp: backward of each position-wise layer, compared with differences of
// its definition in double, for difficult shapes, with and without dropout.
#include <gtest/gtest.h>

#include "model/layers/embedding.h"
#include "model/layers/feed_forward.h"
#include "model/layers/linear.h"
#include "model/layers/normalization.h"
#include "model/loss.h"
#include "tensor/op/sorted_ids.h"
#include "tests/support/definition/double_gradients.h"
#include "tests/support/definition/one_sublayer.h"

namespace weft::testing {
namespace {

constexpr int64_t kRowCounts[] = {1, 5};

Place whole_block(const Matrix& x) { return {0, x.rows}; }

// Runs check(bench, rows) for all sizes, rows and both rates.
template <typename Check>
void on_every_shape(const Check& check) {
  for (const Sizes& sizes : kAwkwardSizes) {
    for (int64_t rows : kRowCounts) {
      for (double rate : {0.0, 0.3}) {
        SCOPED_TRACE(fmt::format("width {}, heads {}, {} rows, dropout {}", sizes.width, sizes.heads, rows, rate));
        LayerBench bench(bench_config(sizes, rate));
        check(bench, rows);
      }
    }
  }
}

TEST(LayerGradients, OfColumnParallelLinear) {
  on_every_shape([](LayerBench& b, int64_t rows) {
    for (bool bias : {true, false}) {
      LayerBench bench(b.config);
      const int64_t width = b.config.width, out = 2 * width;
      const ColumnParallelLinear linear(bench.params, "linear", {.shape = {2, width}, .split = 1, .fan_out = out},
                                        width, bias, /*lora=*/{});
      bench.allocate();
      const Tensor x = bench.random(rows, width), y = bench.space(rows, out), d_y = bench.random(rows, out);
      const Tensor d_x = bench.there(rows, width);
      const bool add = bias;
      linear.forward(bench.pass(), x, y);
      linear.backward(bench.pass(), d_y, x, InputGradient{.d = d_x, .add = add});
      bench.expect_gradients(y, d_y, {{"d_x", x, d_x, add}}, tolerance(width + rows),
                             [&](const DoubleModel& m, const std::vector<Matrix>& in) {
                               return m.layers().linear(in[0], "linear", bias).values;
                             });
    }
  });
}

TEST(LayerGradients, OfRowParallelLinear) {
  on_every_shape([](LayerBench& bench, int64_t rows) {
    const int64_t width = bench.config.width, in = bench.config.feed_forward;
    const RowParallelLinear linear(bench.params, "linear", {in}, width, "linear", /*lora=*/{});
    bench.allocate();
    const Tensor x = bench.random(rows, in), y = bench.space(rows, width);
    const Tensor d_y = bench.random(rows, width), d_x = bench.space(rows, in);
    linear.forward(bench.pass(), x, y);
    linear.backward(bench.pass(), d_y, x, d_x);
    bench.expect_gradients(y, d_y, {{"d_x", x, d_x}}, tolerance(in + rows),
                           [&](const DoubleModel& m, const std::vector<Matrix>& v) {
                             return m.layers().linear(v[0], "linear", /*has_bias=*/false).values;
                           });
  });
}

void check_norm(NormKind kind) {
  on_every_shape([kind](LayerBench& b, int64_t rows) {
    ModelConfig config = b.config;
    config.norm_kind = kind;
    LayerBench bench(config);
    const int64_t width = config.width;
    const Norm norm(bench.params, "norm", config);
    bench.allocate();
    const Tensor x = bench.random(rows, width), y = bench.space(rows, width), d_y = bench.random(rows, width);
    const Tensor d_x = bench.space(rows, width);
    Norm::Saved saved;
    norm.forward(bench.pass(), x, y, &saved);
    norm.backward(bench.pass(), d_y, saved, {}, d_x);
    bench.expect_gradients(
        y, d_y, {{"d_x", x, d_x}}, tolerance(width + rows),
        [&](const DoubleModel& m, const std::vector<Matrix>& v) { return m.layers().norm(v[0], "norm").values; });
  });
}

TEST(LayerGradients, OfEveryNorm) {
  for (const auto& [name, kind] : enum_names(NormKind())) {
    SCOPED_TRACE(name);
    check_norm(kind);
  }
}

void check_residual_stream(NormPosition position, NormKind kind) {
  on_every_shape([position, kind](LayerBench& b, int64_t rows) {
    ModelConfig config = b.config;
    config.norm = position, config.norm_kind = kind;
    LayerBench bench(config);
    const int64_t width = config.width;
    const RowParallelLinear linear1(bench.params, "1.linear", {width}, width, "linear", /*lora=*/{});
    const ResidualConnection after1(bench.params, "1", "linear", /*bias=*/true, config);
    const RowParallelLinear linear2(bench.params, "2.linear", {width}, width, "linear", /*lora=*/{});
    const ResidualConnection after2(bench.params, "2", "linear", /*bias=*/false, config);
    const Residuals residuals{position, {&after1, &after2}};
    bench.allocate();
    const Tensor x = bench.random(rows, width), y = bench.space(rows, width), d_y = bench.random(rows, width);
    const Tensor d = bench.copy(d_y);
    Pass& p = bench.pass();
    ResidualStream::Saved saved;
    ResidualStream stream(p, residuals, x, y, &saved);
    const Tensor input1 = stream.input();
    stream.add(p, linear1.forward(p, input1, stream.output()));
    const Tensor input2 = stream.input();
    stream.add(p, linear2.forward(p, input2, stream.output()));
    ResidualGradient gradient(p, residuals, d, saved);
    const Tensor d_input = bench.space(rows, width);  // the GEMM must not overwrite its input
    const auto backward = [&](const RowParallelLinear& linear, const Tensor& input) {
      linear.backward(p, gradient.of_output(p), input, d_input);
      const InputGradient to = gradient.of_input();
      to.add ? ops::add(p.ctx, {.x = d_input, .y = to.d}) : ops::cast(p.ctx, {.x = d_input, .y = to.d});
    };
    backward(linear2, input2);
    backward(linear1, input1);
    gradient.finish(p);
    const auto sublayer = [](const DoubleLayers& layers, const Matrix& x, const std::string& name, bool bias) {
      return layers.around(x, name + ".norm", [&](const Matrix& in, const Matrix& residual) {
        return layers.residual_linear(in, residual, name + ".linear", bias, whole_block(in));
      });
    };
    bench.expect_gradients(y, d_y, {{"d_x", x, d}}, tolerance(4 * width + rows),
                           [&](const DoubleModel& m, const std::vector<Matrix>& v) {
                             return sublayer(m.layers(), sublayer(m.layers(), v[0], "1", true), "2", false).values;
                           });
  });
}

TEST(LayerGradients, OfResidualStreamWithEveryNormInBothPositions) {
  for (const auto& [name, kind] : enum_names(NormKind())) {
    for (const NormPosition position : {NormPosition::post, NormPosition::pre}) {
      SCOPED_TRACE(fmt::format("{}-norm, {}", name_of_enum(position), name));
      check_residual_stream(position, kind);
    }
  }
}

TEST(LayerGradients, OfFeedForward) {
  on_every_shape([](LayerBench& b, int64_t rows) {
    for (const auto& [name, activation] : enum_names(FeedForwardActivation{})) {
      SCOPED_TRACE(name);
      ModelConfig config = b.config;
      config.activation = activation;
      config.bias_feed_forward =
          activation != FeedForwardActivation::gelu && activation != FeedForwardActivation::swiglu;
      config.dropout_feed_forward *= 1.5;
      LayerBench bench(config, /*seed=*/3);
      const int64_t width = config.width;
      const FeedForward layer(bench.params, "feed_forward", config);
      const ResidualConnection connection(bench.params, "feed_forward", "down", config.bias_feed_forward, config);
      bench.allocate();
      const Tensor x = bench.random(rows, width), y = bench.space(rows, width);
      const Tensor d_y = bench.random(rows, width), d = bench.copy(d_y);
      FeedForward::Saved saved;
      through_sublayer(
          bench.pass(), connection, x, y, d,
          [&](const Tensor& out) { return layer.forward(bench.pass(), x, out, &saved); },
          [&](const Tensor& d_out, const InputGradient& d_x) { layer.backward(bench.pass(), d_out, saved, d_x); });
      bench.expect_gradients(y, d_y, {{"d_x", x, d}}, tolerance(width + config.feed_forward + rows),
                             [&](const DoubleModel& m, const std::vector<Matrix>& v) {
                               return m.layers().feed_forward(v[0], v[0], "feed_forward", whole_block(v[0])).values;
                             });
    }
  });
}

TEST(LayerGradients, OfEmbeddingWithPositions) {
  on_every_shape([](LayerBench& b, int64_t rows) {
    for (Positions positions :
         {Positions::interleaved, Positions::halves, Positions::tensor2tensor, Positions::learned, Positions::rotary}) {
      if (is_rotary(positions) && b.config.head_size() % 2 != 0) continue;
      ModelConfig config = b.config;
      config.positions = positions;
      config.scale_embeddings = positions != Positions::halves;
      config.tying = Tying::none;
      if (positions == Positions::learned) config.max_positions = 8;
      if (positions == Positions::tensor2tensor) config.position_offset = 2, config.embedding_norm = true;
      LayerBench bench(config);
      const Param* table = declare_table(bench.params, "source_embedding.weight", 7, config);
      const PositionEncoding tables(bench.params, config, 8);
      const Embedding embedding(bench.params, "source_embedding", table, config);
      bench.allocate();
      const std::vector<int32_t> ids = rows == 1 ? std::vector<int32_t>{6} : std::vector<int32_t>{3, 0, 3, 6, 3};
      std::vector<int32_t> places;
      for (int32_t i = 0; i < rows; ++i) places.push_back(i);
      const Tensor y = bench.space(rows, config.width), d_y = bench.random(rows, config.width), d = bench.copy(d_y);
      Embedding::Saved saved;
      embedding.forward(bench.pass(), bench.ints(ids), bench.ints(places), tables.source(), y, &saved);
      const auto sorted = [&](const std::vector<int32_t>& of) { return ops::SortedIds(bench.ints(ops::sort_ids(of))); };
      embedding.backward(bench.pass(), sorted(ids), sorted(places), tables.source(), saved, d);
      bench.expect_gradients(y, d_y, {}, tolerance(rows), [&](const DoubleModel& m, const std::vector<Matrix>&) {
        return m.embed(ids, "source", {0, ids.size()}).values;
      });
    }
  });
}

TEST(LayerGradients, OfOutputProjectionAndSmoothedLoss) {
  on_every_shape([](LayerBench& b, int64_t rows) {
    for (int64_t vocabulary : {1, 2, 7}) {
      ModelConfig config = b.config;
      config.tying = Tying::none, config.target_vocabulary = vocabulary, config.bias_output = vocabulary != 2;
      LayerBench bench(config);
      const OutputProjection output(bench.params, /*tied=*/nullptr, config);
      bench.allocate();
      std::vector<int32_t> targets(static_cast<size_t>(rows), static_cast<int32_t>(vocabulary - 1));
      if (rows > 1) targets[1] = 0, targets.back() = -1;  // the last row is unused
      const double smoothing = vocabulary == 2 ? 0 : 0.1;
      const Tensor x = bench.random(rows, config.width), logits = bench.space(rows, vocabulary);
      std::vector<float> scales;
      for (int32_t target : targets) scales.push_back(target < 0 ? 0 : LayerBench::kLossScale);
      const Tensor d_x = bench.space(rows, config.width), d_losses = bench.floats(rows, 1, scales);
      output.forward(bench.pass(), x, logits);
      const RowLoss losses = cross_entropy(bench.pass(), output, logits, {bench.ints(targets)}, smoothing, true);
      output.backward(bench.pass(), /*d_logits=*/logits, x, d_x);
      bench.expect_gradients(losses.loss, d_losses, {{"d_x", x, d_x}}, tolerance(config.width + vocabulary + rows),
                             [&](const DoubleModel& m, const std::vector<Matrix>& v) {
                               return DoubleModel::row_losses(m.logits(v[0]), targets, smoothing);
                             });
    }
  });
}

}  // namespace
}  // namespace weft::testing
