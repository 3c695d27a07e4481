// tests/trainer/export/pytorch_weights_test.cpp: names, fused shapes, and the parameters of each PyTorch
// tensor.
#include "trainer/export/pytorch_weights.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <map>

#include "tests/support/errors.h"
#include "tests/support/small_model.h"

namespace weft::testing {
namespace {

struct Layout {  // "in_proj_weight [9, 3] = q.weight + kv.weight"
  explicit Layout(ModelConfig config) : params(0, 1) {
    config.resolve(1);
    const Transformer model(config, params, /*num_positions=*/1);
    for (const PytorchTensor& t : pytorch_layout(config, params)) {
      std::string text = fmt::format("[{}] =", fmt::join(t.shape, ", "));
      for (const Param* part : t.parts) text += " " + part->spec.name;
      tensors[t.name] = text;
    }
  }
  bool has(const std::string& name) const { return tensors.contains(name); }
  ParamStore params;
  std::map<std::string, std::string> tensors;
};

TEST(PytorchWeights, FuseQueriesKeysAndValuesAsInProj) {
  const Layout layout(small_config());  // width 12, feed-forward 20, vocabulary 11
  const std::string d = "decoder.1.cross_attention.";
  EXPECT_EQ(layout.tensors.at("encoder.layers.0.self_attn.in_proj_weight"),
            "[36, 12] = encoder.0.self_attention.qkv.weight");
  EXPECT_EQ(layout.tensors.at("decoder.layers.1.multihead_attn.in_proj_weight"),
            "[36, 12] = " + d + "q.weight " + d + "kv.weight");
  EXPECT_EQ(layout.tensors.at("decoder.layers.1.multihead_attn.in_proj_bias"),
            "[36] = " + d + "q.bias " + d + "kv.bias");
  EXPECT_EQ(layout.tensors.at("decoder.layers.1.multihead_attn.out_proj.weight"), "[12, 12] = " + d + "out.weight");
  EXPECT_EQ(layout.tensors.at("encoder.layers.1.linear1.weight"), "[20, 12] = encoder.1.feed_forward.up.weight");
  EXPECT_EQ(layout.tensors.at("encoder.layers.1.linear2.weight"), "[12, 20] = encoder.1.feed_forward.down.weight");
  EXPECT_EQ(layout.tensors.at("decoder.layers.0.norm2.weight"), "[12] = decoder.0.cross_attention.norm.weight");
  EXPECT_EQ(layout.tensors.at("decoder.layers.0.norm3.bias"), "[12] = decoder.0.feed_forward.norm.bias");
  EXPECT_EQ(layout.tensors.at("encoder.layers.0.norm2.bias"), "[12] = encoder.0.feed_forward.norm.bias");
}

TEST(PytorchWeights, CoverEveryParameterOnce) {
  for (const bool everything : {false, true}) {
    ModelConfig c = small_config();
    c.tying = Tying::none;
    c.bias_attention = c.bias_feed_forward = c.bias_output = c.final_norm = everything;
    c.positions = everything ? Positions::learned : Positions::halves;
    const Layout layout(c);
    std::map<std::string, int> uses;
    for (const PytorchTensor& t : pytorch_layout([&] { return c.resolve(1), c; }(), layout.params)) {
      int64_t numel = 0, expected = 1;
      for (const Param* part : t.parts) ++uses[part->spec.name], numel += part->spec.shape.numel();
      for (const int64_t dim : t.shape) expected *= dim;
      EXPECT_TRUE(numel == expected || t.parts.empty()) << t.name;
    }
    EXPECT_EQ(uses.size(), layout.params.params().size());
    for (const auto& [name, count] : uses) EXPECT_EQ(count, 1) << name;
  }
}

TEST(PytorchWeights, GiveATiedTableEachOfItsNames) {
  ModelConfig c = small_config();
  c.tying = Tying::all;
  for (const char* name : {"source_embedding.weight", "target_embedding.weight", "output.weight"})
    EXPECT_EQ(Layout(c).tensors.at(name), "[11, 12] = embedding.weight");
  c.tying = Tying::output;
  EXPECT_EQ(Layout(c).tensors.at("source_embedding.weight"), "[11, 12] = source_embedding.weight");
  EXPECT_EQ(Layout(c).tensors.at("output.weight"), "[11, 12] = target_embedding.weight");
}

TEST(PytorchWeights, HaveZerosForBiasesThatAreSwitchedOff) {
  ModelConfig c = small_config();
  c.bias_attention = c.bias_feed_forward = false;
  const Layout layout(c);
  EXPECT_EQ(layout.tensors.at("decoder.layers.0.multihead_attn.in_proj_bias"), "[36] =");
  EXPECT_EQ(layout.tensors.at("encoder.layers.0.linear1.bias"), "[20] =");
  EXPECT_FALSE(layout.has("output.bias"));
  EXPECT_FALSE(layout.has("encoder.norm.weight"));
}

TEST(PytorchWeights, RefuseWhatNnTransformerHasNot) {
  const auto refused = [](void (*change)(ModelConfig&)) {
    ModelConfig c = small_config();
    change(c);
    return refusal_of(ErrorKind::usage, [&] { require_pytorch_model(c); });
  };
  const auto has_no = [](const char* option) {
    return fmt::format("PyTorch's nn.Transformer does not support {}", option);
  };
  EXPECT_EQ(refused([](ModelConfig& c) { c.norm_kind = NormKind::rms; }), has_no("model.norm_kind = rms"));
  EXPECT_EQ(refused([](ModelConfig& c) { c.activation = FeedForwardActivation::glu; }),
            has_no("model.activation = glu"));
  EXPECT_EQ(refused([](ModelConfig& c) { c.kv_heads = 1; }), has_no("model.kv_heads = 1"));
  EXPECT_EQ(refused([](ModelConfig& c) { c.positions = Positions::rotary; }), has_no("model.positions = rotary"));
  EXPECT_EQ(refused([](ModelConfig& c) { c.activation = FeedForwardActivation::silu; }), "");
}

}  // namespace
}  // namespace weft::testing
