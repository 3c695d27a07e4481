// tests/trainer/export/huggingface_test.cpp: names, shapes and the order of columns in model.safetensors, and the
// files beside it. tests/exchange runs the folder in transformers.
#include "trainer/export/huggingface.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "tensor/math.h"
#include "tests/support/errors.h"
#include "tests/trainer/export/export_fixture.h"
#include "trainer/checkpoint/safetensors.h"

namespace weft::testing {
namespace {

class HuggingFaceExport : public Export {
 protected:
  void SetUp() override {
    Export::SetUp();
    give_joint_tokenizer();
  }
  SafetensorsFile exported() {
    const ExportedModel exported = model();
    OutputFolder folder(output(), /*force=*/false);
    export_huggingface(exported, folder);
    folder.commit();
    return SafetensorsFile(output() + "/model.safetensors");
  }
  static Values values(const SafetensorsFile& file, const std::string& name) {
    const SafetensorsEntry& entry = file.entries().at(name);
    Values found((entry.end - entry.begin) / sizeof(float));
    file.read(name, found.data());
    return found;
  }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(read_file(output() + "/" + name)); }
};

TEST_F(HuggingFaceExport, IsAPegasusModelWithPreNorm) {
  const SafetensorsFile file = exported();
  EXPECT_EQ(json("config.json")["architectures"][0], "PegasusForConditionalGeneration");
  EXPECT_EQ(files(), (std::set<std::string>{"config.json", "generation_config.json", "model.safetensors", "source.spm",
                                            "target.spm", "tokenizer_config.json", "vocab.json"}));
  EXPECT_EQ(json("generation_config.json")["bad_words_ids"],
            nlohmann::json({{config_.target_vocabulary}, {SpecialIds::bos}, {SpecialIds::unk}}));
  const int64_t vocabulary = config_.target_vocabulary + 1;
  const std::map<std::string, std::vector<int64_t>> shapes = {
      {"model.shared.weight", {vocabulary, 12}},
      {"final_logits_bias", {1, vocabulary}},
      {"model.encoder.embed_positions.weight", {1025, 12}},
      {"model.encoder.layers.0.self_attn.q_proj.weight", {12, 12}},
      {"model.decoder.layers.0.encoder_attn.v_proj.bias", {12}},
      {"model.decoder.layers.0.fc2.weight", {12, 20}},
      {"model.decoder.layer_norm.bias", {12}}};
  for (const auto& [name, shape] : shapes) EXPECT_EQ(file.entries().at(name).shape, shape) << name;
  EXPECT_EQ(file.entries().size(), 50u);
}

TEST_F(HuggingFaceExport, SharesTheVocabularyOfTokenizersThatOnlyNormalizeDifferently) {
  std::filesystem::remove(folder_ / "tokenizer.model");
  give_joint_tokenizers_with_two_rules();
  exported();
  EXPECT_EQ(json("tokenizer_config.json")["separate_vocabs"], false);
  EXPECT_FALSE(files().contains("target_vocab.json"));
  EXPECT_NE(read_file(output() + "/source.spm"), read_file(output() + "/target.spm"));
}

TEST_F(HuggingFaceExport, IsAMarianModelWithPostNormAndTwoVocabularies) {
  std::filesystem::remove(folder_ / "tokenizer.model");
  give_two_tokenizers();
  config_.norm = NormPosition::post;
  config_.final_norm = false;
  config_.tying = Tying::none;
  const SafetensorsFile file = exported();
  const nlohmann::json config = json("config.json");
  EXPECT_EQ(config["architectures"][0], "MarianMTModel");
  EXPECT_EQ(config["share_encoder_decoder_embeddings"], false);
  EXPECT_EQ(config["tie_word_embeddings"], false);
  EXPECT_EQ(config["vocab_size"], config_.source_vocabulary + 1);
  EXPECT_EQ(config["decoder_vocab_size"], config_.target_vocabulary + 1);
  EXPECT_EQ(json("tokenizer_config.json")["separate_vocabs"], true);
  EXPECT_TRUE(file.entries().contains("lm_head.weight"));
  EXPECT_FALSE(file.entries().contains("model.encoder.layer_norm.weight"));
}

TEST_F(HuggingFaceExport, PutsPaddingWhereTheSmallerVocabularyEnds) {
  std::filesystem::remove(folder_ / "tokenizer.model");
  give_two_tokenizers();
  config_.norm = NormPosition::post;
  config_.final_norm = false;
  config_.tying = Tying::output;
  config_.positions = Positions::halves;  // columns keep their order
  const SafetensorsFile file = exported();
  const auto padding = static_cast<size_t>(config_.target_vocabulary);
  ASSERT_LT(config_.target_vocabulary, config_.source_vocabulary);
  EXPECT_EQ(json("config.json")["pad_token_id"], padding);
  EXPECT_EQ(json("vocab.json")["<pad>"], padding);
  EXPECT_EQ(json("target_vocab.json")["<pad>"], padding);

  const Values table = values(file, "model.encoder.embed_tokens.weight"), before = ours("source_embedding.weight");
  EXPECT_EQ(Values(table.begin(), table.begin() + static_cast<int64_t>(padding) * 12),
            Values(before.begin(), before.begin() + static_cast<int64_t>(padding) * 12));
  EXPECT_EQ(table[padding * 12 + 3], 0);
  EXPECT_EQ(table[(padding + 1) * 12 + 3], before[padding * 12 + 3]);
  EXPECT_EQ(values(file, "final_logits_bias")[padding], -1e9f);
}

TEST_F(HuggingFaceExport, PutsInterleavedColumnsInTheOrderOfHalves) {
  const SafetensorsFile file = exported();
  const auto from = [](size_t j) { return j < 6 ? 2 * j : 2 * (j - 6) + 1; };  // our column of their column j
  const Values positions = values(file, "model.decoder.embed_positions.weight");
  const Values table = values(file, "model.shared.weight"), norm = values(file, "model.encoder.layer_norm.bias");
  const Values query = values(file, "model.decoder.layers.0.encoder_attn.q_proj.weight");
  const Values down = values(file, "model.decoder.layers.0.fc2.weight");
  const Values our_query = ours("decoder.0.cross_attention.q.weight"),
               our_down = ours("decoder.0.feed_forward.down.weight");
  for (size_t j = 0; j < 12; ++j) {
    EXPECT_EQ(positions[7 * 12 + j],
              static_cast<float>(sinusoid(PositionLayout::interleaved, 7, static_cast<int64_t>(from(j)), 12)));
    EXPECT_EQ(table[5 * 12 + j], ours("embedding.weight")[5 * 12 + from(j)]);
    EXPECT_EQ(norm[j], ours("encoder.norm.bias")[from(j)]);
    EXPECT_EQ(query[4 * 12 + j], our_query[4 * 12 + from(j)]);  // inputs
    EXPECT_EQ(down[j * 20 + 3], our_down[from(j) * 20 + 3]);    // outputs
  }
}

TEST_F(HuggingFaceExport, StartsFromTheModelsStartToken) {
  config_.start_token = StartToken::zero;  // padding, whose embedding is 0
  exported();
  for (const char* name : {"config.json", "generation_config.json"})
    EXPECT_EQ(json(name)["decoder_start_token_id"], config_.target_vocabulary);
  std::filesystem::remove_all(output());
  config_.start_token = StartToken::eos;
  exported();
  EXPECT_EQ(json("generation_config.json")["decoder_start_token_id"], SpecialIds::eos);
}

TEST_F(HuggingFaceExport, HasZerosForBiasesThatTheModelLacks) {
  config_.bias_attention = config_.bias_feed_forward = false;
  const SafetensorsFile file = exported();
  EXPECT_EQ(values(file, "model.encoder.layers.0.self_attn.out_proj.bias"), Values(12));
  EXPECT_EQ(values(file, "model.encoder.layers.0.fc1.bias"), Values(20));
}

struct Refusal {
  const char* name;
  std::function<void(ModelConfig&)> change;
  const char* message;
};
class HuggingFaceRefusal : public Export, public ::testing::WithParamInterface<Refusal> {};

TEST_P(HuggingFaceRefusal, NamesTheOptionAndWhatFits) {
  GetParam().change(config_);
  expect_error([&] { require_huggingface_model(config_); }, ErrorKind::usage, {GetParam().message});
}

const Refusal kRefusals[] = {
    {"NormKind", [](ModelConfig& c) { c.norm_kind = NormKind::rms; },
     "transformers' PegasusForConditionalGeneration does not support model.norm_kind = rms: only layer is supported"},
    {"NoFinalNorm", [](ModelConfig& c) { c.final_norm = false; },
     "PegasusForConditionalGeneration does not support model.final_norm = false: model.norm = pre needs true"},
    {"FinalNorm", [](ModelConfig& c) { c.norm = NormPosition::post; },
     "transformers' MarianMTModel does not support model.final_norm = true: model.norm = post needs false"},
    {"Positions", [](ModelConfig& c) { c.positions = Positions::learned; },
     "model.positions = learned: only interleaved and halves are supported"},
    {"Offset", [](ModelConfig& c) { c.position_offset = 2; }, "model.position_offset = 2: only 0 is supported"},
    {"Activation", [](ModelConfig& c) { c.activation = FeedForwardActivation::glu; },
     "model.activation = glu: gated units are not supported"},
    {"Eps", [](ModelConfig& c) { c.norm_eps = 1e-6; }, "model.norm_eps = 1e-06: only 1e-5 is supported"},
    {"EmbeddingNorm", [](ModelConfig& c) { c.embedding_norm = true; },
     "model.embedding_norm = true: only false is supported"},
    {"KvHeads", [](ModelConfig& c) { c.kv_heads = 1; }, "model.kv_heads = 1: only 0 is supported"},
    {"Tying", [](ModelConfig& c) { c.tying = Tying::output; }, "model.tying = output: model.norm = pre needs all"}};
INSTANTIATE_TEST_SUITE_P(All, HuggingFaceRefusal, ::testing::ValuesIn(kRefusals),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::testing
