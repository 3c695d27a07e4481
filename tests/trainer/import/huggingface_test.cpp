// tests/trainer/import/huggingface_test.cpp: folders of transformers become Weft's models.
// tests/exchange/huggingface_import.py compares the numbers of imported models with those of transformers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/trainer/export/export_fixture.h"
#include "tests/trainer/import/imported_values.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/export/huggingface.h"
#include "trainer/export/names/huggingface_names.h"
#include "trainer/import/imported_model.h"

namespace weft::testing {
namespace {

using nlohmann::json;

class HuggingFaceImport : public Export {
 protected:
  void SetUp() override {
    Export::SetUp();
    give_joint_tokenizer();
    config_.positions = Positions::halves;  // columns keep their order
  }
  ImportedModel exported_and_imported() {
    std::filesystem::remove_all(output());
    const ExportedModel exported = model();
    OutputFolder folder(output(), /*force=*/false);
    export_huggingface(exported, folder);
    folder.commit();
    return import_huggingface(output());
  }
  json read_json(const std::string& name) const { return json::parse(read_file(output() + "/" + name)); }
  void write_json(const std::string& name, const json& value) const {
    write_file_atomically(output() + "/" + name, value.dump());
  }
};

TEST_F(HuggingFaceImport, OfAnExportReturnsEveryBit) {
  for (const bool post : {false, true}) {
    config_.norm = post ? NormPosition::post : NormPosition::pre, config_.final_norm = !post;
    config_.bias_output = true;
    const ImportedModel imported = exported_and_imported();
    EXPECT_EQ(imported.config.model.norm, config_.norm);
    EXPECT_EQ(imported.config.model.start_token, StartToken::bos);
    EXPECT_EQ(imported.config.model.target_vocabulary, config_.target_vocabulary);  // without padding
    for (const char* name : {"embedding.weight", "output.bias", "decoder.0.cross_attention.kv.weight",
                             "encoder.0.self_attention.qkv.bias", "encoder.0.feed_forward.down.weight"})
      EXPECT_EQ(values_of(imported, name), ours(name)) << name;
  }
}

TEST_F(HuggingFaceImport, KeepsTheTokenizersIds) {
  const ImportedModel imported = exported_and_imported();
  ASSERT_EQ(imported.tokenizers.size(), 1u);
  write_file_atomically(folder_ / "imported.model", imported.tokenizers.at("tokenizer.model"));
  EXPECT_TRUE(same_pieces(Tokenizer(folder_ / "imported.model"), Tokenizer(folder_ / "tokenizer.model")));
}

TEST_F(HuggingFaceImport, HasBothTablesOfSeparateVocabularies) {
  std::filesystem::remove(folder_ / "tokenizer.model");
  give_two_tokenizers();
  config_.norm = NormPosition::post, config_.final_norm = false, config_.tying = Tying::none;
  const ImportedModel imported = exported_and_imported();
  EXPECT_EQ(imported.config.model.tying, Tying::none);
  EXPECT_EQ(imported.config.model.source_vocabulary, config_.source_vocabulary);
  for (const char* name : {"source_embedding.weight", "target_embedding.weight", "output.weight"})
    EXPECT_EQ(values_of(imported, name), ours(name)) << name;
  EXPECT_EQ(imported.tokenizers.size(), 2u);
}

TEST_F(HuggingFaceImport, RefusesAddedTokensThatThePiecesLack) {
  exported_and_imported();
  write_json("added_tokens.json", {{"<ent>", 5}});
  expect_error([&] { import_huggingface(output()); }, ErrorKind::checkpoint,
               {"added_tokens.json: the added token '<ent>' is not supported"});
}

TEST_F(HuggingFaceImport, StartsFromZeroIfTheStartTokensEmbeddingIsZero) {
  config_.start_token = StartToken::zero;
  const ImportedModel imported = exported_and_imported();
  EXPECT_EQ(imported.config.model.start_token, StartToken::zero);
  EXPECT_EQ(values_of(imported, "embedding.weight"), ours("embedding.weight"));  // without the row of padding
}

// A folder of M2M100ForConditionalGeneration with NLLB's tokenizer: ids shifted by one, then two languages.
class NllbImport : public HuggingFaceImport {
 protected:
  void SetUp() override {
    HuggingFaceImport::SetUp();
    std::filesystem::create_directory(output());
    const Tokenizer tokenizer(folder_ / "tokenizer.model");
    pieces_ = tokenizer.size();
    std::filesystem::copy_file(folder_ / "tokenizer.model", output() + "/sentencepiece.bpe.model");
    write_json("tokenizer_config.json", {{"added_tokens_decoder",
                                          {{std::to_string(pieces_ + 1), {{"content", "deu_Latn"}}},
                                           {std::to_string(pieces_ + 2), {{"content", "eng_Latn"}}}}}});
    config_.source_vocabulary = config_.target_vocabulary = pieces_ + 3;
    json config = {{"model_type", "m2m_100"}, {"d_model", 12},     {"vocab_size", pieces_ + 3},  {"eos_token_id", 2},
                   {"bos_token_id", 0},       {"pad_token_id", 1}, {"decoder_start_token_id", 2}};
    for (const char* side : {"encoder", "decoder"}) {
      config[side + std::string("_layers")] = 1;
      config[side + std::string("_attention_heads")] = 3;
      config[side + std::string("_ffn_dim")] = 20;
    }
    write_json("config.json", config);
    write_tensors();
  }
  // `tables` are names of the table; `different` has other values.
  void write_tensors(const std::vector<std::string>& tables = {"model.shared.weight"},
                     const std::string& different = "") const {
    std::map<std::string, std::vector<int64_t>> shapes;
    for (const ForeignTensor& name : huggingface_names(config_))
      if (name.form != ForeignTensor::output_bias && name.name != "model.shared.weight") shapes[name.name] = name.shape;
    for (const std::string& table : tables) shapes[table] = {pieces_ + 3, 12};
    std::filesystem::remove(output() + "/model.safetensors");
    SafetensorsWriter writer(output() + "/model.safetensors", shapes);
    for (const auto& [name, shape] : shapes) {
      Values values(static_cast<size_t>(shape[0] * (shape.size() > 1 ? shape[1] : 1)));
      const bool is_table = std::ranges::find(tables, name) != tables.end();
      for (size_t i = 0; i < values.size(); ++i) values[i] = value(is_table ? "model.shared.weight" : name, i);
      if (name == different) values.back() += 1;
      writer.write(values.data(), std::ssize(values));
    }
    writer.finish();
  }
  static float value(const std::string& name, size_t i) { return std::sin(static_cast<float>(i + 100 * name.size())); }
  void change_config(const std::string& key, const json& value) const {
    json config = read_json("config.json");
    config[key] = value;
    write_json("config.json", config);
  }
  int64_t pieces_ = 0;
};

TEST_F(NllbImport, HasTheOptionsOfItsClass) {
  const ModelConfig m = import_huggingface(output()).config.model;
  EXPECT_EQ(m.norm, NormPosition::pre);
  EXPECT_TRUE(m.final_norm);
  EXPECT_EQ(m.positions, Positions::tensor2tensor);
  EXPECT_EQ(m.position_offset, 2);
  EXPECT_EQ(m.start_token, StartToken::eos);
  EXPECT_EQ(m.activation, FeedForwardActivation::relu);
  EXPECT_TRUE(m.scale_embeddings);
  EXPECT_FALSE(m.bias_output);
}

TEST_F(NllbImport, TakesTheOptionsOfTheSearch) {
  const auto decode = [&] { return import_huggingface(output()).config.decode; };
  EXPECT_EQ(decode().beam, 1);
  EXPECT_EQ(decode().beam_kind, BeamKind::fixed);
  EXPECT_EQ(decode().length_penalty_kind, LengthPenalty::power);
  EXPECT_EQ(decode().length_penalty, 1);
  EXPECT_EQ(decode().min_length, 0);
  EXPECT_TRUE(decode().allow_unknown);
  change_config("num_beams", 5);
  EXPECT_EQ(decode().beam, 5);
  write_json("generation_config.json",  // which then contains all options of the search
             {{"early_stopping", true}, {"bad_words_ids", {{3}, {1}}}, {"repetition_penalty", 1.1}, {"min_length", 7}});
  EXPECT_EQ(decode().beam, 1);
  EXPECT_EQ(decode().beam_kind, BeamKind::first);
  EXPECT_FALSE(decode().allow_unknown);
  EXPECT_EQ(decode().min_length, 5);  // without the start token and the language
  const auto unused = [&] { return import_huggingface(output()).unused_options; };
  EXPECT_EQ(unused(), std::vector<std::string>{"repetition_penalty"});
  write_json(
      "generation_config.json",
      {{"bad_words_ids", {{3}, {7}}}, {"suppress_tokens", {5}}, {"forced_bos_token_id", 9}, {"do_sample", false}});
  EXPECT_EQ(unused(),
            (std::vector<std::string>{"suppress_tokens", "forced_bos_token_id (give --target-tag)", "bad_words_ids"}));
  write_json("generation_config.json", {{"min_length", std::numeric_limits<int64_t>::min()}});
  expect_error(unused, ErrorKind::checkpoint, {"min_length = -9223372036854775808 is not between"});
}

TEST_F(NllbImport, TakesTheTableUnderEachNameButNotTablesThatDiffer) {
  const Values before = values_of(import_huggingface(output()), "embedding.weight");
  write_tensors({"lm_head.weight", "model.encoder.embed_tokens.weight"});
  EXPECT_EQ(values_of(import_huggingface(output()), "embedding.weight"), before);
  write_tensors({"model.shared.weight", "lm_head.weight"}, "lm_head.weight");
  expect_error([&] { import_huggingface(output()); }, ErrorKind::checkpoint,
               {"lm_head.weight differs from model.shared.weight, although config.json ties them"});
}

TEST_F(NllbImport, MovesTheRowsOfTheTableToOurIds) {
  const ImportedModel imported = import_huggingface(output());
  const Values table = values_of(imported, "embedding.weight");
  const auto row_of = [&](int64_t id) {
    for (int64_t row = 0; row < pieces_ + 3; ++row)
      if (table[static_cast<size_t>(id) * 12] == value("model.shared.weight", static_cast<size_t>(row) * 12))
        return row;
    return int64_t{-1};
  };
  // unk, bos, eos, padding, the first piece, the last piece, the last language
  const std::vector<std::pair<int64_t, int64_t>> places = {
      {0, 3}, {1, 0}, {2, 2}, {3, 1}, {4, 4}, {pieces_, pieces_}, {pieces_ + 2, pieces_ + 2}};
  for (const auto& [id, row] : places) EXPECT_EQ(row_of(id), row) << id;
  write_file_atomically(folder_ / "imported.model", imported.tokenizers.at("tokenizer.model"));
  const Tokenizer theirs(folder_ / "tokenizer.model"), mine(folder_ / "imported.model");
  EXPECT_EQ(mine.piece(4), theirs.piece(3));
  EXPECT_TRUE(mine.is_padding(3));
  EXPECT_TRUE(mine.is_tag(mine.id_of("deu_Latn")));
  EXPECT_EQ(mine.decode(mine.encode("abc dcb")), "abc dcb");
}

TEST_F(NllbImport, FindsLanguagesInEachFileThatMayNameThem) {
  const std::string before = import_huggingface(output()).tokenizers.at("tokenizer.model");
  std::filesystem::remove(output() + "/tokenizer_config.json");
  expect_error([&] { import_huggingface(output()); }, ErrorKind::checkpoint, {"no file names the languages"});
  write_json("special_tokens_map.json", {{"additional_special_tokens", {"deu_Latn", "eng_Latn"}}});
  EXPECT_EQ(import_huggingface(output()).tokenizers.at("tokenizer.model"), before);
  std::filesystem::remove(output() + "/special_tokens_map.json");
  write_json("tokenizer.json", {{"added_tokens",
                                 {{{"id", 2}, {"content", "</s>"}},
                                  {{"id", pieces_ + 2}, {"content", "eng_Latn"}},
                                  {{"id", pieces_ + 1}, {"content", "deu_Latn"}}}}});
  EXPECT_EQ(import_huggingface(output()).tokenizers.at("tokenizer.model"), before);
}

// As in M2M-100, whose ids are in vocab.json.
TEST_F(NllbImport, MakesPiecesThatTheVocabularyLacksUnknown) {
  const Tokenizer theirs(output() + "/sentencepiece.bpe.model");
  json ids = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
  const std::vector<int32_t> before = theirs.encode("abcdefgh");
  const int32_t missing = before.back();
  for (int32_t id = 3; id < pieces_; ++id)
    if (id != missing) ids[theirs.piece(id)] = ids.size();
  write_json("vocab.json", ids);
  write_json("special_tokens_map.json", {{"additional_special_tokens", {"deu_Latn", "eng_Latn"}}});
  write_json("tokenizer_config.json",
             {{"added_tokens_decoder", {{std::to_string(ids.size() + 2), {{"content", "<ent>"}}}}}});
  const ImportedModel imported = import_huggingface(output());
  write_file_atomically(folder_ / "imported.model", imported.tokenizers.at("tokenizer.model"));
  const Tokenizer mine(folder_ / "imported.model");
  EXPECT_EQ(mine.size(), pieces_ + 3);  // the table's rows
  for (const char* tag : {"deu_Latn", "eng_Latn", "<ent>"}) EXPECT_TRUE(mine.is_tag(mine.id_of(tag))) << tag;
  const std::vector<int32_t> after = mine.encode("abcdefgh");
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(mine.piece(after[i]), before[i] == missing ? "<unk>" : theirs.piece(before[i]));
}

TEST_F(NllbImport, ReadsTensorsFromSeveralFiles) {
  const auto values = [&] { return values_of(import_huggingface(output()), "embedding.weight"); };
  const Values before = values();
  const SafetensorsFile all(output() + "/model.safetensors");
  json index;
  int number = 0;
  for (const auto& [name, entry] : all.entries()) {
    const std::string file = "model-" + std::to_string(++number) + ".safetensors";
    SafetensorsWriter writer(output() + "/" + file, {{name, entry.shape}});
    Values tensor((entry.end - entry.begin) / sizeof(float));
    all.read(name, tensor.data());
    writer.write(tensor.data(), std::ssize(tensor));
    writer.finish();
    index["weight_map"][name] = file;
  }
  std::filesystem::remove(output() + "/model.safetensors");
  write_json("model.safetensors.index.json", index);
  EXPECT_EQ(values(), before);
  index["weight_map"].begin().value() = "../model-1.safetensors";
  write_json("model.safetensors.index.json", index);
  expect_error([&] { import_huggingface(output()); }, ErrorKind::checkpoint, {"is not in a file of the folder"});
}

TEST_F(NllbImport, RefusesTwoTokensWithOneId) {
  write_json("tokenizer_config.json", {{"added_tokens_decoder", {{"3", {{"content", "<ent>"}}}}}});
  expect_error([&] { import_huggingface(output()); }, ErrorKind::checkpoint,
               {"'<unk>' and '<ent>' have the same id, 3"});
}

TEST_F(NllbImport, RefusesWhatWeftCannotCompute) {
  const std::string good = read_file(output() + "/config.json");
  const std::vector<std::tuple<const char*, json, const char*>> changes = {
      {"model_type", "t5", "model_type is 't5', but only marian, pegasus, mbart, m2m_100 can be imported"},
      {"activation_function", "laplace", "activation_function 'laplace' is not supported"},
      {"decoder_ffn_dim", 24, "encoder_ffn_dim = 20 and decoder_ffn_dim = 24 must be equal"},
      {"d_model", "wide", "d_model is wide, not a whole number"},
      {"d_model", 24, "but config.json describes"},
      {"encoder_layers", 2, "lacks tensor 'model.encoder.layers.1."},
      {"tie_word_embeddings", false, "tie_word_embeddings = false with one table"},
      {"quantization_config", json::object(), "quantized weights cannot be imported"},
      {"pad_token_id", 10000, "pad_token_id = 10000 is not in the vocabulary"},
      {"encoder_layers", 1'000'000'000, "must be at most 1000"},
      {"eos_token_id", 10000, "eos_token_id = 10000 is not in the vocabulary"},
      {"vocab_size", pieces_ + 2, "but config.json describes"},
  };
  for (const auto& [key, value, message] : changes) {
    change_config(key, value);
    expect_error([&] { import_huggingface(output()); }, ErrorKind::checkpoint, {message});
    write_file_atomically(output() + "/config.json", good);
  }
}

TEST_F(NllbImport, RefusesValuesThatAreNotFinite) {
  std::string bytes = read_file(output() + "/model.safetensors");
  const uint32_t nan = 0x7fc00000;
  bytes.replace(bytes.size() - sizeof nan, sizeof nan, reinterpret_cast<const char*>(&nan), sizeof nan);
  write_file_atomically(output() + "/model.safetensors", bytes);
  expect_error([&] { values_of(import_huggingface(output()), "embedding.weight"); }, ErrorKind::checkpoint,
               {"model.shared.weight", "nan"});
}

}  // namespace
}  // namespace weft::testing
