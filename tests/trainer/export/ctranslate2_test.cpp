// tests/trainer/export/ctranslate2_test.cpp: the bytes of model.bin, its names and shapes, and the files beside it.
// tests/exchange runs the folder in CTranslate2.
#include "trainer/export/ctranslate2.h"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "tensor/math.h"
#include "tests/support/errors.h"
#include "tests/trainer/export/export_fixture.h"

namespace weft::testing {
namespace {

// Reads model.bin by its definition.
struct ModelBin {
  explicit ModelBin(const std::string& path) : bytes(read_file(path)) {
    EXPECT_EQ(number<uint32_t>(), 6u);
    EXPECT_EQ(text(), "TransformerSpec");
    EXPECT_EQ(number<uint32_t>(), 7u);
    for (auto count = number<uint32_t>(); count > 0; --count) {
      Variable& v = variables[text()];
      for (int rank = number<uint8_t>(); rank > 0; --rank) v.shape.push_back(number<uint32_t>());
      v.type = number<uint8_t>();
      const auto size = number<uint32_t>();
      v.data = bytes.substr(at, size);
      at += size;
    }
    for (auto count = number<uint32_t>(); count > 0; --count) {
      const std::string alias = text();
      aliases[alias] = text();
    }
    EXPECT_EQ(at, bytes.size());
  }
  Values values(const std::string& name) const {
    const std::string& data = variables.at(name).data;
    Values found(data.size() / sizeof(float));
    std::memcpy(found.data(), data.data(), data.size());
    return found;
  }

  struct Variable {
    std::vector<int64_t> shape;
    int type = -1;
    std::string data;
  };
  std::map<std::string, Variable> variables;
  std::map<std::string, std::string> aliases;

 private:
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return value;
  }
  std::string text() {
    const size_t size = number<uint16_t>();
    const std::string found = bytes.substr(at, size - 1);
    EXPECT_EQ(bytes[at + size - 1], '\0');
    at += size;
    return found;
  }
  std::string bytes;
  size_t at = 0;
};

class Ctranslate2Export : public Export {
 protected:
  ModelBin exported() {
    const ExportedModel exported = model();
    OutputFolder folder(output(), /*force=*/false);
    export_ctranslate2(exported, folder);
    folder.commit();
    return ModelBin(output() + "/model.bin");
  }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(read_file(output() + "/" + name)); }
};

TEST_F(Ctranslate2Export, SharesTheVocabularyOfTokenizersThatOnlyNormalizeDifferently) {
  give_joint_tokenizers_with_two_rules();
  exported();
  EXPECT_EQ(files(), (std::set<std::string>{"config.json", "model.bin", "shared_vocabulary.json", "source.model",
                                            "target.model"}));
}

TEST_F(Ctranslate2Export, HasTheVariablesOfItsSpecification) {
  give_joint_tokenizer();
  config_.bias_output = true;
  const ModelBin found = exported();
  EXPECT_EQ(found.variables.size(), 56u);  // as CTranslate2's own converters write for one layer a side
  const std::map<std::string, std::string> aliases = {{"decoder/projection/weight", "decoder/embeddings/weight"},
                                                      {"encoder/embeddings_0/weight", "decoder/embeddings/weight"}};
  EXPECT_EQ(found.aliases, aliases);
  const int64_t vocabulary = config_.target_vocabulary;
  const std::map<std::string, std::vector<int64_t>> shapes = {
      {"decoder/embeddings/weight", {vocabulary, 12}},
      {"decoder/projection/bias", {vocabulary}},
      {"encoder/position_encodings/encodings", {1025, 12}},
      {"encoder/layer_0/self_attention/linear_0/weight", {36, 12}},
      {"decoder/layer_0/attention/linear_1/weight", {24, 12}},
      {"decoder/layer_0/ffn/linear_1/weight", {12, 20}},
      {"decoder/layer_norm/beta", {12}},
      {"encoder/num_heads", {}}};
  for (const auto& [name, shape] : shapes) EXPECT_EQ(found.variables.at(name).shape, shape) << name;
  EXPECT_EQ(found.variables.at("encoder/num_heads").data, std::string("\3\0", 2));
}

TEST_F(Ctranslate2Export, KeepsEveryBitOfAParameter) {
  give_joint_tokenizer();
  const ModelBin found = exported();
  EXPECT_EQ(found.values("decoder/embeddings/weight"), ours("embedding.weight"));
  EXPECT_EQ(found.values("encoder/layer_0/self_attention/linear_0/weight"),
            ours("encoder.0.self_attention.qkv.weight"));
  EXPECT_EQ(found.values("decoder/layer_0/attention/linear_1/bias"), ours("decoder.0.cross_attention.kv.bias"));
}

TEST_F(Ctranslate2Export, HasThePositionsOfTheModel) {
  give_joint_tokenizer();
  config_.position_offset = 2;
  const Values table = exported().values("decoder/position_encodings/encodings");
  for (const int64_t row : {0, 1, 1024})
    EXPECT_EQ(table[static_cast<size_t>(row * 12 + 5)],
              static_cast<float>(sinusoid(PositionLayout::interleaved, row + 2, 5, 12)));
}

TEST_F(Ctranslate2Export, HasEpsEmbeddingNormsAndTheStartToken) {
  give_joint_tokenizer();
  config_.norm_eps = 1e-6, config_.embedding_norm = true, config_.start_token = StartToken::zero;
  const ModelBin found = exported();
  EXPECT_EQ(found.values("encoder/layernorm_embedding/gamma"), ours("source_embedding.norm.weight"));
  EXPECT_EQ(found.values("decoder/layernorm_embedding/beta"), ours("target_embedding.norm.bias"));
  EXPECT_EQ(found.variables.at("decoder/start_from_zero_embedding").data, std::string(1, '\1'));
  EXPECT_EQ(json("config.json")["layer_norm_epsilon"], 1e-6);
}

TEST_F(Ctranslate2Export, SplitsAGatedUnit) {
  give_joint_tokenizer();
  config_.activation = FeedForwardActivation::swiglu;
  const ModelBin found = exported();
  Values both = found.values("encoder/layer_0/ffn/linear_0/weight");
  const Values values = found.values("encoder/layer_0/ffn/linear_0_noact/weight");
  both.insert(both.end(), values.begin(), values.end());
  EXPECT_EQ(both, ours("encoder.0.feed_forward.up.weight"));
}

TEST_F(Ctranslate2Export, HasNeitherPositionsNorBetasThatTheModelLacks) {
  give_joint_tokenizer();
  config_.positions = Positions::rotary_halves;
  config_.norm_kind = NormKind::rms;
  config_.final_norm = false;
  config_.bias_attention = false;
  const ModelBin found = exported();
  EXPECT_EQ(found.variables.at("decoder/layer_0/self_attention/rotary_interleave").data, std::string(1, '\0'));
  EXPECT_FALSE(found.variables.contains("decoder/layer_0/attention/rotary_dim"));
  for (const char* name : {"encoder/position_encodings/encodings", "encoder/layer_norm/gamma",
                           "encoder/layer_0/ffn/layer_norm/beta", "encoder/layer_0/self_attention/linear_0/bias"})
    EXPECT_FALSE(found.variables.contains(name)) << name;
}

TEST_F(Ctranslate2Export, WritesOneVocabularyOrTwo) {
  give_joint_tokenizer();
  exported();
  EXPECT_EQ(files(), (std::set<std::string>{"config.json", "model.bin", "shared_vocabulary.json", "tokenizer.model"}));
  EXPECT_EQ(json("config.json")["decoder_start_token"], "<s>");
  EXPECT_EQ(json("config.json")["add_source_eos"], true);
  EXPECT_EQ(json("shared_vocabulary.json").size(), static_cast<size_t>(config_.target_vocabulary));

  std::filesystem::remove_all(output());
  std::filesystem::remove(folder_ / "tokenizer.model");
  give_two_tokenizers();
  config_.tying = Tying::none;
  const ModelBin found = exported();
  EXPECT_TRUE(found.aliases.empty());
  EXPECT_EQ(files(), (std::set<std::string>{"config.json", "model.bin", "source.model", "source_vocabulary.json",
                                            "target.model", "target_vocabulary.json"}));
  EXPECT_EQ(json("source_vocabulary.json").size(), static_cast<size_t>(config_.source_vocabulary));
}

TEST_F(Ctranslate2Export, RefusesTwoNamesForTheEndOfASentence) {
  give_two_tokenizers();
  config_.tying = Tying::output;
  std::string changed = read_file(folder_ / "target.model");
  changed.replace(changed.find("</s>"), 4, "<$s>");
  changed += "\x12\x07\xfa\x02\x04<$s>";  // trainer_spec (field 2) with eos_piece (field 47): merged into the first
  write_file_atomically(folder_ / "target.model", changed);
  expect_error([&] { exported(); }, ErrorKind::usage,
               {"CTranslate2 needs the same piece for the end of a sentence", "source tokenizer uses </s>", "<$s>"});
  EXPECT_FALSE(std::filesystem::exists(output()));
}

}  // namespace
}  // namespace weft::testing
