// tests/model/layer_gradients_attention_test.cpp: backward of attention sublayers and whole blocks, compared
// with differences of their definition in double, for difficult packings of sentences.
#include <gtest/gtest.h>

#include "model/block.h"
#include "tests/support/definition/double_gradients.h"
#include "tests/support/definition/one_sublayer.h"

namespace weft::testing {
namespace {

// Runs check(config, layout) for all sizes, layouts and both rates; half of them without biases.
template <typename Check>
void on_every_layout(const Check& check) {
  for (const Sizes& sizes : kAwkwardSizes) {
    for (const Layout& layout : awkward_layouts()) {
      for (double rate : {0.0, 0.3}) {
        SCOPED_TRACE(fmt::format("width {}, heads {}, {}, dropout {}", sizes.width, sizes.heads, layout.name, rate));
        ModelConfig config = bench_config(sizes, rate);
        config.bias_attention = config.bias_feed_forward = (sizes.width % 2 == 1) == (rate == 0);
        check(config, layout);
      }
    }
  }
}

double block_tolerance(const ModelConfig& c, const Layout& layout) {
  return tolerance(4 * c.width + c.feed_forward + layout.source_rows + layout.target_rows);
}

// `change` sets a variant; it returns false if these sizes do not support it.
void check_self_attention(
    bool causal, bool (*change)(ModelConfig&) = [](ModelConfig&) { return true; }) {
  on_every_layout([=](ModelConfig config, const Layout& layout) {
    if (!change(config)) return;
    LayerBench bench(config);
    const PositionEncoding positions(bench.params, config, 16);
    const SelfAttention attention(bench.params, "self_attention", config, causal, positions.rotary());
    const ResidualConnection connection(bench.params, "self_attention", "out", config.bias_attention, config);
    bench.allocate();
    const Side side = Side::of(layout, &Lengths::target);
    const Sequences rows = side.sequences(bench);
    const Tensor x = bench.random(side.rows, config.width), y = bench.space(side.rows, config.width);
    const Tensor d_y = side.random_d_y(bench, config.width), d = bench.copy(d_y);
    SelfAttention::Saved saved;
    through_sublayer(
        bench.pass(), connection, x, y, d,
        [&](const Tensor& out) { return attention.forward(bench.pass(), x, rows, out, &saved); },
        [&](const Tensor& d_out, const InputGradient& d_x) {
          attention.backward(bench.pass(), d_out, rows, saved, d_x);
        });
    bench.expect_gradients(y, d_y, {{"d_x", x, d}}, block_tolerance(config, layout),
                           [&](const DoubleModel& m, const std::vector<Matrix>& v) {
                             return side.assemble(config.width, [&](size_t i) {
                               return m.layers().self_attention(side.sentence(v[0], i), side.sentence(v[0], i),
                                                                "self_attention", causal, side.place(i));
                             });
                           });
  });
}

TEST(LayerGradients, OfSelfAttention) { check_self_attention(/*causal=*/false); }
TEST(LayerGradients, OfCausalSelfAttention) { check_self_attention(/*causal=*/true); }
TEST(LayerGradients, OfSelfAttentionWithRotaryPositions) {
  check_self_attention(/*causal=*/false, [](ModelConfig& c) {
    c.positions = Positions::rotary;
    return c.head_size() % 2 == 0;
  });
  check_self_attention(/*causal=*/true, [](ModelConfig& c) {
    c.positions = Positions::rotary_halves;
    return c.head_size() % 2 == 0;
  });
}
TEST(LayerGradients, OfSelfAttentionWithSharedKeysAndValues) {
  check_self_attention(/*causal=*/true, [](ModelConfig& c) {
    c.kv_heads = 1;
    return c.heads > 1;
  });
}

TEST(LayerGradients, OfCrossAttention) {
  on_every_layout([](const ModelConfig& config, const Layout& layout) {
    LayerBench bench(config);
    const CrossAttention attention(bench.params, "cross_attention", config);
    const ResidualConnection connection(bench.params, "cross_attention", "out", config.bias_attention, config);
    bench.allocate();
    const Side target = Side::of(layout, &Lengths::target), source = Side::of(layout, &Lengths::source);
    const SequenceRanges queries = target.ranges(bench, source), keys = source.ranges(bench, source);
    const int64_t width = config.width;
    const Tensor x = bench.random(target.rows, width), encoded = bench.random(source.rows, width);
    const Tensor y = bench.space(target.rows, width), d_y = target.random_d_y(bench, width), d = bench.copy(d_y);
    const Tensor d_encoded = bench.there(source.rows, width);
    CrossAttention::Saved saved;
    through_sublayer(
        bench.pass(), connection, x, y, d,
        [&](const Tensor& out) {
          return attention.forward(bench.pass(), x, encoded, {queries, keys}, out, &saved);
        },
        [&](const Tensor& d_out, const InputGradient& d_x) {
          attention.backward(bench.pass(), d_out, {queries, keys}, saved, d_x, d_encoded);
        });
    bench.expect_gradients(y, d_y, {{"d_x", x, d}, {"d_encoded", encoded, d_encoded, /*accumulates=*/true}},
                           block_tolerance(config, layout), [&](const DoubleModel& m, const std::vector<Matrix>& v) {
                             return target.assemble(width, [&](size_t i) {
                               return m.layers().cross_attention(target.sentence(v[0], i), target.sentence(v[0], i),
                                                                 source.sentence(v[1], i), "cross_attention",
                                                                 target.place(i), source.place(i));
                             });
                           });
  });
}

TEST(LayerGradients, OfEncoderBlockInBothNormPositions) {
  on_every_layout([](ModelConfig config, const Layout& layout) {
    for (NormPosition place : {NormPosition::post, NormPosition::pre}) {
      config.norm = place;
      LayerBench bench(config);
      const EncoderBlock block(bench.params, "encoder.0", config);
      bench.allocate();
      const Side side = Side::of(layout, &Lengths::source);
      const Sequences rows = side.sequences(bench);
      const Tensor x = bench.random(side.rows, config.width), y = bench.space(side.rows, config.width);
      const Tensor d_y = side.random_d_y(bench, config.width), d = bench.copy(d_y);
      EncoderBlock::Saved saved;
      block.forward(bench.pass(), x, rows, y, &saved);
      block.backward(bench.pass(), d, rows, saved);
      bench.expect_gradients(y, d_y, {{"d_x", x, d}}, block_tolerance(config, layout),
                             [&](const DoubleModel& m, const std::vector<Matrix>& v) {
                               return side.assemble(config.width, [&](size_t i) {
                                 return m.encoder_block(side.sentence(v[0], i), "encoder.0", side.place(i));
                               });
                             });
    }
  });
}

TEST(LayerGradients, OfDecoderBlockInBothNormPositions) {
  on_every_layout([](ModelConfig config, const Layout& layout) {
    for (NormPosition place : {NormPosition::post, NormPosition::pre}) {
      config.norm = place;
      LayerBench bench(config);
      const DecoderBlock block(bench.params, "decoder.0", config);
      bench.allocate();
      const Side target = Side::of(layout, &Lengths::target), source = Side::of(layout, &Lengths::source);
      const Sequences target_rows = target.sequences(bench), source_rows = source.sequences(bench);
      const int64_t width = config.width;
      const Tensor x = bench.random(target.rows, width), encoded = bench.random(source.rows, width);
      const Tensor y = bench.space(target.rows, width), d_y = target.random_d_y(bench, width), d = bench.copy(d_y);
      const Tensor d_encoded = bench.there(source.rows, width);
      DecoderBlock::Saved saved;
      block.forward(bench.pass(), x, encoded, {target_rows, source_rows}, y, &saved);
      block.backward(bench.pass(), d, {target_rows, source_rows}, saved, d_encoded);
      bench.expect_gradients(y, d_y, {{"d_x", x, d}, {"d_encoded", encoded, d_encoded, /*accumulates=*/true}},
                             block_tolerance(config, layout), [&](const DoubleModel& m, const std::vector<Matrix>& v) {
                               return target.assemble(width, [&](size_t i) {
                                 return m.decoder_block(target.sentence(v[0], i), source.sentence(v[1], i), "decoder.0",
                                                        target.place(i), source.place(i));
                               });
                             });
    }
  });
}

}  // namespace
}  // namespace weft::testing
