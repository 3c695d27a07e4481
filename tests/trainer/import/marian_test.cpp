// tests/trainer/import/marian_test.cpp: models of Marian become Weft's models.
// tests/exchange/marian_import.py compares models that Marian trains with Marian.
#include "trainer/export/marian.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "data/subword/piece_list.h"
#include "tests/support/errors.h"
#include "tests/trainer/export/export_fixture.h"
#include "tests/trainer/import/imported_values.h"
#include "trainer/export/formats/npz.h"
#include "trainer/export/names/marian_names.h"
#include "trainer/import/imported_model.h"

namespace weft::testing {
namespace {

class MarianImport : public Export {
 protected:
  void SetUp() override {
    Export::SetUp();
    give_joint_tokenizer();
    config_.norm = NormPosition::post, config_.final_norm = false;
    config_.positions = Positions::tensor2tensor;
    config_.start_token = StartToken::zero, config_.norm_eps = 1e-6;
    config_.bias_output = true;
  }
  ImportedModel exported_and_imported() {
    std::filesystem::remove_all(output());
    const ExportedModel exported = model();
    OutputFolder folder(output(), /*force=*/false);
    export_marian(exported, folder);
    folder.commit();
    return import_marian(output());
  }
};

TEST_F(MarianImport, OfAnExportReturnsEveryBit) {
  for (const Tying tying : {Tying::all, Tying::output, Tying::none}) {
    config_.tying = tying;
    const ImportedModel imported = exported_and_imported();
    EXPECT_EQ(imported.config.model.tying, tying);
    EXPECT_EQ(imported.config.model.start_token, StartToken::zero);
    EXPECT_EQ(imported.config.model.target_vocabulary, config_.target_vocabulary);
    for (const char* name : {"output.bias", "decoder.0.cross_attention.kv.weight", "encoder.0.self_attention.qkv.bias",
                             "encoder.0.feed_forward.down.weight", "decoder.0.feed_forward.norm.bias"})
      EXPECT_EQ(values_of(imported, name), ours(name)) << name;
    const bool all = tying == Tying::all;
    for (const char* name :
         {all ? "embedding.weight" : "source_embedding.weight", all ? "embedding.weight" : "target_embedding.weight"})
      EXPECT_EQ(values_of(imported, name), ours(name)) << name;
  }
}

TEST_F(MarianImport, DropsAnOutputBiasOfZeros) {
  config_.bias_output = false;
  EXPECT_FALSE(exported_and_imported().config.model.bias_output);
}

TEST_F(MarianImport, TakesTheOptionsOfTheDecoder) {
  exported_and_imported();
  write_file_atomically(output() + "/decoder.yml",
                        "models: [/elsewhere/model.npz]\nvocabs: [/elsewhere/vocab.spm, /elsewhere/vocab.spm]\n"
                        "beam-size: 6\nnormalize: 0.5\nallow-unk: true\n");
  const DecodeConfig decode = import_marian(output()).config.decode;
  EXPECT_EQ(decode.beam, 6);
  EXPECT_EQ(decode.length_penalty, 0.5);
  EXPECT_EQ(decode.length_penalty_kind, LengthPenalty::power);
  EXPECT_TRUE(decode.allow_unknown);
  EXPECT_EQ(decode.max_length_factor, 3);
}

// A folder with model.npz as Marian writes it: no begin of sentence, and </s> and <unk> first.
class TrainedMarian : public MarianImport {
 protected:
  static constexpr int64_t kWidth = 4, kForward = 6;

  void SetUp() override {
    MarianImport::SetUp();
    std::filesystem::create_directory(output());
    const std::string mine = read_file(folder_ / "tokenizer.model");
    PieceList list = read_pieces(mine, "tokenizer.model");
    list.pieces.erase(list.pieces.begin(), list.pieces.begin() + 3);
    list.pieces.insert(list.pieces.begin(), {{"</s>", 0, Piece::control}, {"<unk>", 0, Piece::unknown}});
    list.entries = rows_ = std::ssize(list.pieces);
    write_file_atomically(output() + "/vocab.spm", with_pieces(mine, list));
    pieces_ = list.pieces;
    config_.width = kWidth, config_.heads = 2, config_.feed_forward = kForward;
    config_.source_vocabulary = config_.target_vocabulary = rows_;
    write();
  }
  std::string yml() const {
    return "type: transformer\ndim-emb: 4\ntransformer-heads: 2\ntransformer-dim-ffn: 6\nenc-depth: 1\ndec-depth: 1\n"
           "transformer-preprocess: \"\"\ntransformer-postprocess: dan\ntied-embeddings-all: " +
           tied_ + "\nversion: " + version_ + "\ndim-vocabs:\n  - " + std::to_string(rows_) + "\n  - " +
           std::to_string(rows_) + "\n";
  }
  void write(const std::string& more = "", const std::string& without = "") const {
    std::filesystem::remove(output() + "/model.npz");
    NpzWriter file(output() + "/model.npz");
    for (const ForeignTensor& t : marian_names(config_, tables_)) {
      if (t.name == without) continue;
      Values values(static_cast<size_t>(t.rows() * t.columns()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = value(t.name, i);
      file.add(t.name, t.shape, values);
    }
    const std::string text = yml() + more;
    file.add_bytes("special:model.yml", {text.c_str(), text.size() + 1});
    file.finish();
  }
  static float value(const std::string& name, size_t i) { return std::sin(static_cast<float>(i + 100 * name.size())); }

  MarianTables tables_ = marian_tables(Tying::all);
  std::string tied_ = "true";
  int64_t rows_ = 0;
  std::string version_ = "v1.12.42 b7be0e964 2025-05-24";
  std::vector<Piece> pieces_;
};

TEST_F(TrainedMarian, GetsABeginOfSentenceThatIsNeverPredicted) {
  const ImportedModel imported = import_marian(output());
  EXPECT_EQ(imported.config.model.target_vocabulary, rows_ + 1);
  const Values table = values_of(imported, "embedding.weight"), bias = values_of(imported, "output.bias");
  const auto row = [&](size_t id) { return table[id * kWidth]; };
  EXPECT_EQ(row(0), value("Wemb", 1 * kWidth));
  EXPECT_EQ(row(1), 0);
  EXPECT_EQ(row(2), value("Wemb", 0));
  EXPECT_EQ(row(3), value("Wemb", 2 * kWidth));
  EXPECT_EQ(bias[1], -100);
  EXPECT_EQ(bias[3], value("decoder_ff_logit_out_b", 2));
}

TEST_F(TrainedMarian, HasMarianOptions) {
  const ModelConfig m = import_marian(output() + "/model.npz").config.model;
  EXPECT_EQ(m.norm, NormPosition::post);
  EXPECT_FALSE(m.final_norm);
  EXPECT_EQ(m.norm_eps, 1e-6);
  EXPECT_EQ(m.activation, FeedForwardActivation::silu);
  EXPECT_EQ(m.positions, Positions::tensor2tensor);
  EXPECT_EQ(m.start_token, StartToken::zero);
  EXPECT_TRUE(m.scale_embeddings);
}

TEST_F(TrainedMarian, ComputesGeluAsItsVersionDoes) {
  write("transformer-ffn-activation: gelu\n");
  EXPECT_EQ(import_marian(output()).config.model.activation, FeedForwardActivation::gelu);
  version_ = "v1.12.0 65bf82ff";
  write("transformer-ffn-activation: gelu\n");
  EXPECT_EQ(import_marian(output()).config.model.activation, FeedForwardActivation::gelu_sigmoid);
}

// [D, V], as old versions of Marian write it.
TEST_F(TrainedMarian, ReadsATransposedOutputMatrix) {
  config_.tying = Tying::none;
  tables_ = {.output = "decoder_ff_logit_out_W", .output_transposed = true};
  tied_ = "false";
  write();
  const Values matrix = values_of(import_marian(output()), "output.weight");
  for (int64_t row = 0; row < rows_; ++row)  // </s> and <unk> change places, and begin of sentence is between them
    for (int64_t column = 0; column < kWidth; ++column)
      EXPECT_EQ(matrix[static_cast<size_t>((row == 0   ? 2
                                            : row == 1 ? 0
                                                       : row + 1) *
                                               kWidth +
                                           column)],
                value("decoder_ff_logit_out_W", static_cast<size_t>(column * rows_ + row)));
}

TEST_F(TrainedMarian, NamesTheEntryThatAVocabularyLacks) {
  std::string yml = "eos: 0\nUNK: 1\n";
  for (int64_t i = 2; i < rows_; ++i)
    yml += "\"" + pieces_[static_cast<size_t>(i)].text + "\": " + std::to_string(i) + "\n";
  write_file_atomically(output() + "/vocab.yml", yml);
  for (const char* side : {"/source.spm", "/target.spm"})
    std::filesystem::copy_file(output() + "/vocab.spm", output() + side);
  write_file_atomically(output() + "/decoder.yml", "vocabs: [vocab.yml, vocab.yml]\n");
  expect_error([&] { import_marian(output()); }, ErrorKind::checkpoint, {"the vocabulary has no entry for unknown"});
}

TEST_F(TrainedMarian, NeedsNoOutputBias) {
  write("output-omit-bias: true\n", "decoder_ff_logit_out_b");
  const ImportedModel imported = import_marian(output());
  EXPECT_TRUE(imported.config.model.bias_output);
  Values expected(static_cast<size_t>(rows_) + 1);
  expected[1] = -100;
  EXPECT_EQ(values_of(imported, "output.bias"), expected);
}

TEST_F(TrainedMarian, TakesTheIdsOfAYml) {
  std::string yml = "\"</s>\": 0\n\"<unk>\": 1\n";
  for (int64_t i = 2; i < rows_; ++i)  // in the opposite order
    yml += "\"" + pieces_[static_cast<size_t>(rows_ + 1 - i)].text + "\": " + std::to_string(i) + "\n";
  write_file_atomically(output() + "/opus.vocab.yml", yml);
  for (const char* side : {"/source.spm", "/target.spm"})
    std::filesystem::copy_file(output() + "/vocab.spm", output() + side);
  expect_error([&] { import_marian(output()); }, ErrorKind::checkpoint, {"lacks decoder.yml"});
  write_file_atomically(output() + "/decoder.yml", "models: [model.npz]\nvocabs: [opus.vocab.yml, opus.vocab.yml]\n");
  const ImportedModel imported = import_marian(output());
  write_file_atomically(folder_ / "imported.model", imported.tokenizers.at("tokenizer.model"));
  const Tokenizer mine(folder_ / "imported.model");
  EXPECT_EQ(mine.piece(3), pieces_.back().text);
  EXPECT_EQ(values_of(imported, "embedding.weight")[3 * kWidth], value("Wemb", 2 * kWidth));
  EXPECT_EQ(mine.decode(mine.encode("abc dcb")), "abc dcb");
}

// The same arrays as a .bin, with a matrix in f16.
TEST_F(TrainedMarian, ReadsABinWithF16) {
  std::string headers, names, shapes, data;
  uint64_t count = 0;
  const auto append = [](std::string& to, auto v) { to.append(reinterpret_cast<const char*>(&v), sizeof v); };
  const auto add = [&](const std::string& name, uint64_t type, const std::vector<int64_t>& shape, std::string bytes) {
    bytes.resize((bytes.size() + 255) / 256 * 256);
    for (const uint64_t v : {uint64_t{name.size() + 1}, type, uint64_t{shape.size()}, uint64_t{bytes.size()}})
      append(headers, v);
    names += name + '\0';
    for (const int64_t size : shape) append(shapes, static_cast<int32_t>(size));
    data += bytes, ++count;
  };
  for (const ForeignTensor& t : marian_names(config_, marian_tables(config_.tying))) {
    std::string bytes;
    const bool is_half = t.name == "encoder_l1_ffn_W1";
    for (int64_t i = 0; i < t.rows() * t.columns(); ++i)
      is_half ? append(bytes, uint16_t{0x3e00}) : append(bytes, value(t.name, static_cast<size_t>(i)));
    add(t.name, is_half ? 0x402 : 0x404, t.shape, bytes);
  }
  add("special:model.yml", 0x101, {std::ssize(yml())}, yml());
  std::string file;
  append(file, uint64_t{1}), append(file, count);
  file += headers + names + shapes;
  append(file, uint64_t{3});
  write_file_atomically(output() + "/other.bin", file + "gap" + data);
  const ImportedModel bin = import_marian(output() + "/other.bin"), npz = import_marian(output() + "/model.npz");
  EXPECT_EQ(values_of(bin, "embedding.weight"), values_of(npz, "embedding.weight"));
  EXPECT_EQ(values_of(bin, "encoder.0.feed_forward.up.weight"), Values(kWidth * kForward, 1.5f));
  write_file_atomically(output() + "/other.bin", (file + "gap" + data).substr(0, file.size() + 300));
  expect_error([&] { import_marian(output() + "/other.bin"); }, ErrorKind::checkpoint, {"other.bin", "is truncated"});
  expect_error([&] { import_marian(output()); }, ErrorKind::checkpoint, {"contains 2 models"});
}

TEST_F(TrainedMarian, RefusesWhatWeftCannotCompute) {
  const std::vector<std::pair<const char*, const char*>> changes = {
      {"transformer-decoder-autoreg: rnn\n", "transformer-decoder-autoreg = 'rnn' is not supported"},
      {"transformer-no-projection: true\n", "transformer-no-projection = true is not supported"},
      {"transformer-tied-layers: [1, 1]\n", "transformer-tied-layers is not supported"},
      {"transformer-ffn-depth: 3\n", "transformer-ffn-depth = 3 is not supported, only 2"},
      {"transformer-decoder-dim-ffn: 8\n", "transformer-decoder-dim-ffn = 8 is not supported, only 6"},
      {"transformer-ffn-activation: tanh\n", "transformer-ffn-activation = 'tanh' is not supported"},
      {"transformer-postprocess-top: r\n", "transformer-postprocess-top = 'r' is not supported"},
      {"transformer-postprocess-top: n\n", "lacks tensor 'encoder_top_ln_scale'"},
      {"right-left: true\n", "right-left = true is not supported"},
      {"output-omit-bias: true\n", "tensor 'decoder_ff_logit_out_b' has no counterpart in Weft's model"},
      {"enc-depth: 1\n", "the key 'enc-depth' occurs twice"},
      {"skip: [\n", "special:model.yml"},
      {"skip: \xff\n", "is not valid UTF-8"},
      {"a: &a [x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x]\n"
       "b: *a\nc: *a\nd: *a\ne: *a\nf: *a\ng: *a\nh: *a\ni: *a\nj: *a\nk: *a\nl: *a\nm: *a\nn: *a\no: *a\np: *a\n",
       "aliases are not supported"},
  };
  for (const auto& [more, message] : changes) {
    write(more);
    expect_error([&] { import_marian(output()); }, ErrorKind::checkpoint, {message});
  }
}

TEST_F(TrainedMarian, IsFoundInTheCurrentFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(output());
  EXPECT_NO_THROW(import_marian("model.npz"));
  std::filesystem::current_path(before);
}

TEST_F(TrainedMarian, RefusesNamesAndValuesOfItsDecoder) {
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"vocabs: [\"a\\nb\", c]", "lacks the file 'a\\nb'"},
      {"vocabs: [.., ..]", "lacks the file '..'"},
      {"vocabs: [vocab.spm]", "vocabs has 1 entries"},
      {"max-length-factor: 1e300", "max-length-factor = 1e+300 must be above 0 and at most 1000"},
  };
  for (const auto& [text, message] : cases) {
    write_file_atomically(output() + "/decoder.yml", text + "\n");
    expect_error([&] { import_marian(output()); }, ErrorKind::checkpoint, {message});
  }
  write_file_atomically(output() + "/decoder.yml",
                        "word-penalty: 0.5\nshortlist: [lex.gz, 100]\noutput-sampling: []\n");
  EXPECT_EQ(import_marian(output()).unused_options, (std::vector<std::string>{"word-penalty", "shortlist"}));
  EXPECT_EQ(import_marian(output()).config.decode.min_length, 0);
}

TEST_F(TrainedMarian, RefusesDamagedArchives) {
  const std::string good = read_file(output() + "/model.npz");
  const auto refused = [&](const std::string& bytes, const char* message) {
    write_file_atomically(output() + "/model.npz", bytes);
    expect_error([&] { import_marian(output()); }, ErrorKind::checkpoint, {"model.npz", message});
  };
  const auto changed = [&](size_t at, char to) {
    std::string bytes = good;
    bytes[at] = to;
    return bytes;
  };
  refused(good.substr(0, good.size() - 50), "is not a zip archive, or is truncated");
  const size_t header = good.find("{'descr'"), shape = good.find("'shape': (", header);
  refused(changed(header + 200, 'x'), "is damaged: its checksum differs");
  refused(changed(shape + 10, 'x'), "is damaged: its checksum differs");
  const size_t directory = good.find("PK\1\2");
  refused(changed(directory + 10, 8), "is compressed");
  refused(changed(directory + 8, 1), "is encrypted");
  refused(changed(directory + 27, 4), "model.npz");  // a size beyond the file
}

}  // namespace
}  // namespace weft::testing
