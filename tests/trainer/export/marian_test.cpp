// tests/trainer/export/marian_test.cpp: forms that Marian lacks, and that its decoder begins as ours does.
// tests/exchange runs the folder in Marian.
#include "trainer/export/marian.h"

#include <cstring>
#include <functional>
#include <map>

#include "tests/support/errors.h"
#include "tests/trainer/export/export_fixture.h"

namespace weft::testing {
namespace {

class MarianExport : public Export {
 protected:
  void SetUp() override {
    Export::SetUp();
    config_.norm = NormPosition::post;
    config_.final_norm = false;
    config_.positions = Positions::tensor2tensor;
  }
  void export_model() {
    const ExportedModel exported = model();
    OutputFolder folder(output(), /*force=*/false);
    export_marian(exported, folder);
    folder.commit();
    archive_ = read_file(output() + "/model.npz");
  }
  // The data of a float array of `count` values, which ends where the next member or the directory begins.
  Values values(const std::string& name, size_t count) const {
    const size_t at = archive_.find("PK\3\4", archive_.find(name + ".npy") - 30), length = at + 30 + name.size() + 4;
    uint32_t size;
    std::memcpy(&size, archive_.data() + at + 18, sizeof size);
    Values found(count);
    std::memcpy(found.data(), archive_.data() + length + size - count * sizeof(float), count * sizeof(float));
    return found;
  }

  std::string archive_;
};

TEST_F(MarianExport, WritesModelVocabularyAndConfiguration) {
  give_joint_tokenizer();
  export_model();
  EXPECT_EQ(files(), (std::set<std::string>{"decoder.yml", "model.npz", "vocab.spm"}));
  for (const char* text :
       {"enc-depth: 1", "transformer-heads: 3", "transformer-postprocess: dan", "tied-embeddings: false"})
    EXPECT_TRUE(holds(archive_, text)) << text;
  std::filesystem::remove_all(output());
  std::filesystem::remove(folder_ / "tokenizer.model");
  give_two_tokenizers();
  config_.tying = Tying::output;
  export_model();
  EXPECT_EQ(files(), (std::set<std::string>{"decoder.yml", "model.npz", "source.spm", "target.spm"}));
  EXPECT_TRUE(holds(read_file(output() + "/decoder.yml"), "allow-unk: false"));
}

TEST_F(MarianExport, TransposesMatrices) {
  give_joint_tokenizer();
  export_model();
  const Values theirs = values("encoder_l1_self_Wk", 12 * 12), own = ours("encoder.0.self_attention.qkv.weight");
  for (size_t in = 0; in < 12; ++in)
    for (size_t out = 0; out < 12; ++out) EXPECT_EQ(theirs[in * 12 + out], own[(12 + out) * 12 + in]);
}

// Its eps is a tenth of ours, so that its layer norm is ours for sqrt(0.1) times the input.
TEST_F(MarianExport, ScalesTheResidualSumsButTheFirst) {
  give_joint_tokenizer();
  config_.encoder_layers = 2;
  config_.bias_output = true;
  export_model();
  const float a = std::sqrt(0.1f);
  const auto expect_first = [&](const char* theirs, const char* own, float factor, size_t count) {
    EXPECT_NEAR(values(theirs, count)[0] / ours(own)[0], factor, 1e-6) << theirs;
  };
  expect_first("encoder_l1_self_Wo", "encoder.0.self_attention.out.weight", 1, 144);
  expect_first("encoder_l1_self_bo", "encoder.0.self_attention.out.bias", 1, 12);
  expect_first("encoder_l1_self_Wo_ln_scale", "encoder.0.self_attention.norm.weight", a, 12);
  expect_first("encoder_l1_self_Wo_ln_bias", "encoder.0.self_attention.norm.bias", a, 12);
  expect_first("encoder_l1_ffn_W1", "encoder.0.feed_forward.up.weight", 1 / a, 240);
  expect_first("encoder_l1_ffn_b1", "encoder.0.feed_forward.up.bias", 1, 20);
  expect_first("encoder_l1_ffn_W2", "encoder.0.feed_forward.down.weight", a, 240);
  expect_first("encoder_l1_ffn_b2", "encoder.0.feed_forward.down.bias", a, 12);
  expect_first("encoder_l2_self_Wq", "encoder.1.self_attention.qkv.weight", 1 / a, 144);
  expect_first("encoder_l2_self_bq", "encoder.1.self_attention.qkv.bias", 1, 12);
  expect_first("encoder_l2_self_Wo", "encoder.1.self_attention.out.weight", a, 144);
  expect_first("decoder_l1_self_Wq", "decoder.0.self_attention.qkv.weight", 1, 144);
  expect_first("decoder_l1_context_Wk", "decoder.0.cross_attention.kv.weight", 1 / a, 144);
  expect_first("decoder_l1_context_bo", "decoder.0.cross_attention.out.bias", a, 12);
  const size_t target = static_cast<size_t>(config_.target_vocabulary);
  EXPECT_NEAR(values("decoder_ff_logit_out_Wt", 12 * target)[1] / ours("embedding.weight")[1], 1 / a, 1e-6);
  expect_first("decoder_ff_logit_out_b", "output.bias", 1, target);
}

// Queries of the decoder's first block at the first position, less the position's row, which both add alike.
TEST_F(MarianExport, BeginsWithTheEmbeddingOfBos) {
  give_joint_tokenizer();
  export_model();
  const Values table = ours("embedding.weight"), weight = ours("decoder.0.self_attention.qkv.weight"),
               bias = ours("decoder.0.self_attention.qkv.bias"), out = ours("decoder.0.self_attention.out.bias");
  const Values theirs = values("decoder_l1_self_bq", 12), their_out = values("decoder_l1_self_bo", 12);
  const float scale = std::sqrt(12.0f);
  for (size_t i = 0; i < 12; ++i) {
    double expected = bias[i];
    for (size_t j = 0; j < 12; ++j) expected += weight[i * 12 + j] * scale * table[1 * 12 + j];
    EXPECT_NEAR(theirs[i], expected, 1e-5);
    EXPECT_NEAR(their_out[i], out[i] + scale * table[1 * 12 + i], 1e-6);
  }
  const Values target = values("decoder_Wemb", table.size());
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(target[1 * 12 + i], 0);
    EXPECT_EQ(target[5 * 12 + i], table[5 * 12 + i] - table[1 * 12 + i]);
  }
  EXPECT_EQ(values("encoder_Wemb", table.size()), table);
}

TEST_F(MarianExport, NeedsNoCorrectionForAModelThatStartsFromZero) {
  give_joint_tokenizer();
  config_.start_token = StartToken::zero, config_.norm_eps = 1e-6;
  export_model();
  EXPECT_EQ(values("decoder_l1_self_bo", 12), ours("decoder.0.self_attention.out.bias"));
  EXPECT_EQ(values("decoder_l1_ffn_b2", 12), ours("decoder.0.feed_forward.down.bias"));
  const Values table = ours("embedding.weight");
  EXPECT_EQ(values("Wemb", table.size()), table);  // remains tied
}

struct MarianForm {
  const char* name;
  std::function<void(ModelConfig&)> change;
  const char* message;
};
class MarianRefusal : public MarianExport, public ::testing::WithParamInterface<MarianForm> {};

TEST_P(MarianRefusal, NamesTheOptionAndWhatFits) {
  GetParam().change(config_);
  expect_error([&] { require_marian_model(config_); }, ErrorKind::usage, {GetParam().message});
}

const MarianForm kMarianForms[] = {
    {"PreNorm", [](ModelConfig& c) { c.norm = NormPosition::pre; },
     "Marian does not support model.norm = pre: only post is supported"},
    {"NormKind", [](ModelConfig& c) { c.norm_kind = NormKind::rms; }, "model.norm_kind = rms: only layer is supported"},
    {"FinalNorm", [](ModelConfig& c) { c.final_norm = true; }, "model.final_norm = true: only false is supported"},
    {"Positions", [](ModelConfig& c) { c.positions = Positions::interleaved; },
     "model.positions = interleaved: only tensor2tensor is supported"},
    {"Offset", [](ModelConfig& c) { c.position_offset = 1; }, "model.position_offset = 1: only 0 is supported"},
    {"Width", [](ModelConfig& c) { c.width = 15; }, "model.width = 15: the width must be even"},
    {"Activation", [](ModelConfig& c) { c.activation = FeedForwardActivation::gelu_sigmoid; },
     "model.activation = gelu_sigmoid: only relu, silu and gelu are supported"},
    {"EmbeddingNorm", [](ModelConfig& c) { c.embedding_norm = true; },
     "model.embedding_norm = true: only false is supported"},
    {"KvHeads", [](ModelConfig& c) { c.kv_heads = 1; }, "model.kv_heads = 1: only 0 is supported"}};
INSTANTIATE_TEST_SUITE_P(All, MarianRefusal, ::testing::ValuesIn(kMarianForms),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::testing
