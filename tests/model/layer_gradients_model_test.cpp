// tests/model/layer_gradients_model_test.cpp: loss and gradients of whole models, compared with the
// definition in double and its differences, for several architectures and difficult packings of sentences.
#include <gtest/gtest.h>

#include "model/transformer.h"
#include "tests/support/block_loss.h"
#include "tests/support/definition/double_gradients.h"

namespace weft::testing {
namespace {

Block block_of(const Layout& layout, const ModelConfig& c) {
  BlockBuilder builder(layout.source_rows, layout.target_rows);
  int64_t next = 0;
  const auto tokens = [&](int64_t rows, int64_t vocabulary) {  // with eos they are `rows` tokens
    std::vector<int32_t> ids;
    while (static_cast<int64_t>(ids.size()) + 1 < rows)
      ids.push_back(static_cast<int32_t>(3 + next++ % (vocabulary - 3)));
    return ids;
  };
  for (const Lengths& s : layout.sentences) {
    const auto source = tokens(s.source, c.source_vocabulary);
    builder.add(source, tokens(s.target, c.target_vocabulary));
  }
  return builder.finish(0);
}

void check_model(ModelConfig config, const Layout& layout, uint64_t seed, double smoothing) {
  LayerBench bench(config, seed);
  Transformer model(config, bench.params, /*num_positions=*/16);
  bench.allocate();
  const Block block = block_of(layout, config);
  Pass& p = bench.pass();
  const BlockLoss sums =
      sum_of(p.ctx, model.loss_and_gradients(p, model.load(p, block), {.smoothing = smoothing}, nullptr));
  bench.expect_gradients(
      bench.floats(1, 1, {static_cast<float>(sums.loss)}), bench.floats(1, 1, {LayerBench::kLossScale}), {}, 1e-5,
      [&](const DoubleModel& m, const std::vector<Matrix>&) { return Doubles{m.loss(block, smoothing)}; });
}

struct Form {
  const char* name;
  void (*change)(ModelConfig&);
};

const Form kForms[] = {
    {"post_relu_all_tied", [](ModelConfig& c) { c.activation = FeedForwardActivation::relu; }},
    {"post_final_norm_untied_output_bias",
     [](ModelConfig& c) {
       c.final_norm = c.bias_output = true, c.tying = Tying::none, c.source_vocabulary = 5;
       c.positions = Positions::halves, c.position_offset = 2, c.activation = FeedForwardActivation::relu;
     }},
    {"pre_final_norm_output_tied_two_layers",
     [](ModelConfig& c) {
       c.norm = NormPosition::pre, c.final_norm = true, c.tying = Tying::output, c.source_vocabulary = 6;
       c.encoder_layers = c.decoder_layers = 2, c.positions = Positions::tensor2tensor;
     }},
    {"pre_without_biases_unscaled_learned",
     [](ModelConfig& c) {
       c.norm = NormPosition::pre, c.bias_attention = c.bias_feed_forward = c.scale_embeddings = false;
       c.positions = Positions::learned, c.max_positions = 7;
     }},
    {"post_embedding_norm_other_eps_start_from_zero",
     [](ModelConfig& c) {
       c.embedding_norm = true, c.norm_eps = 1e-3, c.start_token = StartToken::zero, c.dropout_embedding = 0.25;
       c.activation = FeedForwardActivation::gelu_sigmoid;
     }},
    {"pre_rms_swiglu_rotary_shared_keys",
     [](ModelConfig& c) {
       c.norm = NormPosition::pre, c.norm_kind = NormKind::rms, c.final_norm = true, c.bias_feed_forward = false;
       c.activation = FeedForwardActivation::swiglu, c.kv_heads = 1;
       if (c.head_size() % 2 == 0) c.positions = Positions::rotary_halves;
     }},
    {"post_relu_adapters_of_all_matrices",
     [](ModelConfig& c) {
       c.activation = FeedForwardActivation::relu;
       c.lora = {.rank = 3, .alpha = 5, .dropout = c.dropout, .targets = "q,k,v,out,up,down"};
     }},
    {"pre_geglu_shared_keys_adapters_of_some",
     [](ModelConfig& c) {
       c.norm = NormPosition::pre, c.final_norm = true, c.activation = FeedForwardActivation::geglu, c.kv_heads = 1;
       c.lora = {.rank = 1, .targets = "v,up"};
     }},
};

class WholeModel : public ::testing::TestWithParam<Form> {};

TEST_P(WholeModel, HasTheDefinitionsLossAndGradients) {
  for (const Sizes& sizes : {kAwkwardSizes[0], kAwkwardSizes[1], kAwkwardSizes[2], kAwkwardSizes[4]}) {
    for (const Layout& layout : awkward_layouts()) {
      for (double rate : {0.0, 0.2}) {
        SCOPED_TRACE(fmt::format("width {}, heads {}, {}, dropout {}", sizes.width, sizes.heads, layout.name, rate));
        ModelConfig config = bench_config(sizes, rate);
        GetParam().change(config);
        config.resolve(1);
        if (sizes.width == 8 && !is_rotary(config.positions)) continue;  // only this size has heads of even width
        // RMSNorm of one number is its sign; its gradient is only the f32 rounding error of 1 - 1.
        if (config.norm_kind == NormKind::rms && config.width == 1) continue;
        // A seed without nearly constant rows, for which norms would amplify f32 rounding.
        check_model(config, layout, /*seed=*/10, /*smoothing=*/rate == 0 ? 0.1 : 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Family, WholeModel, ::testing::ValuesIn(kForms),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::testing
