// tests/trainer/export/formats/pytorch_file_test.cpp: round trips bit by bit for every architecture; errors for
// wrong files.
#include "trainer/export/formats/pytorch_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "tests/support/errors.h"
#include "tests/support/small_model.h"
#include "tests/support/temporary_folder.h"
#include "trainer/checkpoint/safetensors.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

struct Weights {  // a model without an arena
  explicit Weights(ModelConfig c, float seed = 0) : params(0, 1) {
    c.resolve(1);
    config = c;
    const Transformer model(config, params, /*num_positions=*/1);
    params.allocate();
    if (seed == 0) return;
    for (const Param& p : params.params())  // alignment gaps between them stay zero
      for (int64_t i = p.offset; i < p.offset + p.numel(); ++i) data()[i] = std::sin(seed + static_cast<float>(i));
  }
  float* data() const { return params.values().ptr<float>(); }
  bool same_bits(const Weights& other) const {
    return params.numel() == other.params.numel() &&
           std::memcmp(data(), other.data(), static_cast<size_t>(params.numel()) * sizeof(float)) == 0;
  }
  void write(const std::string& path) const {
    fs::remove(path);
    write_pytorch_file(path, config, params);
  }
  void read(const std::string& path) const {
    const std::vector<float> values = read_pytorch_file(path, config, params);
    std::copy(values.begin(), values.end(), data());
  }

  ModelConfig config;
  ParamStore params;
};

// A file's tensors, to be changed and written again.
struct StateDict {
  using Values = std::pair<std::vector<int64_t>, std::vector<float>>;
  explicit StateDict(const std::string& path) {
    const SafetensorsFile file(path);
    for (const auto& [name, entry] : file.entries()) {
      Values& t = tensors[name];
      t = {entry.shape, std::vector<float>((entry.end - entry.begin) / sizeof(float))};
      file.read(name, t.second.data());
    }
  }
  void write(const std::string& path) const {
    std::map<std::string, std::vector<int64_t>> shapes;
    for (const auto& [name, t] : tensors) shapes[name] = t.first;
    fs::remove(path);
    SafetensorsWriter writer(path, shapes);
    for (const auto& [name, t] : tensors) writer.write(t.second.data(), static_cast<int64_t>(t.second.size()));
    writer.finish();
  }
  std::map<std::string, Values> tensors;
};

std::vector<ModelConfig> forms() {
  std::vector<ModelConfig> all;
  for (const Tying tying : {Tying::none, Tying::output, Tying::all})
    for (const bool biases : {false, true})
      for (const bool pre : {false, true}) {
        ModelConfig c = small_config();
        c.tying = tying;
        c.norm = pre ? NormPosition::pre : NormPosition::post;
        c.final_norm = pre != biases;
        c.bias_attention = c.bias_feed_forward = c.bias_output = biases;
        if (tying != Tying::all) c.target_vocabulary = 13;
        if (tying == Tying::none && pre) c.positions = Positions::learned, c.max_positions = 9;
        all.push_back(c);
      }
  return all;
}

TEST(PytorchFile, GivesEveryBitBackForEachFormOfTheModel) {
  const TemporaryFolder folder;
  for (const ModelConfig& c : forms()) {
    const Weights written(c, /*seed=*/1), read(c);
    written.write(folder / "a");
    read.read(folder / "a");
    EXPECT_TRUE(read.same_bits(written));
    read.write(folder / "b");
    EXPECT_EQ(read_file(folder / "a"), read_file(folder / "b"));
  }
}

TEST(PytorchFile, LaysQueriesThenKeysAndValuesEndToEnd) {
  const TemporaryFolder folder;
  const Weights w(small_config(), 1);
  w.write(folder / "a");
  const auto [shape, values] = StateDict(folder / "a").tensors.at("decoder.layers.1.multihead_attn.in_proj_weight");
  const Param* q = w.params.find("decoder.1.cross_attention.q.weight");
  const Param* kv = w.params.find("decoder.1.cross_attention.kv.weight");
  EXPECT_EQ(shape, (std::vector<int64_t>{36, 12}));
  EXPECT_EQ(values[0], w.data()[q->offset]);
  EXPECT_EQ(values[12 * 12], w.data()[kv->offset]);
  EXPECT_EQ(values.back(), w.data()[kv->offset + kv->numel() - 1]);
}

class PytorchImport : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.tying = Tying::output, config_.bias_feed_forward = false;
    Weights(config_, 1).write(path_);
  }

  // The error for the file after `change`; the model's values must be unchanged.
  std::string refusal(const std::function<void(StateDict&)>& change) {
    StateDict file(path_);
    change(file);
    file.write(folder_ / "changed");
    return refusal_of(folder_ / "changed");
  }
  std::string refusal_of(const std::string& path) {
    const Weights model(config_, 2), before(config_, 2);
    const std::string text = testing::refusal_of(ErrorKind::checkpoint, [&] { model.read(path); });
    if (text.empty()) return text;
    EXPECT_TRUE(model.same_bits(before));
    EXPECT_TRUE(text.starts_with(path + ": ")) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text.substr(std::min(text.size(), path.size() + 2));
  }
  // The file with its tensors in another element type that keeps the upper `bytes` of each value.
  void write_as(const std::string& dtype, size_t bytes) {
    nlohmann::json header;
    std::string data;
    for (const auto& [name, t] : StateDict(path_).tensors) {
      const size_t begin = data.size();
      for (const float& v : t.second) data.append(reinterpret_cast<const char*>(&v) + sizeof v - bytes, bytes);
      header[name] = {{"dtype", dtype}, {"shape", t.first}, {"data_offsets", {begin, data.size()}}};
    }
    const std::string text = header.dump();
    const uint64_t length = text.size();
    write_file_atomically(path_, std::string(reinterpret_cast<const char*>(&length), 8) + text + data);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "weights.safetensors";
  ModelConfig config_ = small_config();
};

TEST_F(PytorchImport, AMissingTensorIsNamed) {
  EXPECT_EQ(refusal([](StateDict& s) { s.tensors.erase("encoder.layers.1.linear1.weight"); }),
            "tensor 'encoder.layers.1.linear1.weight' is missing: docs/pytorch.md lists names and shapes");
}

TEST_F(PytorchImport, AMissingLayerNamesThreeTensorsTheirNumberAndTheOption) {
  EXPECT_EQ(
      refusal([](StateDict& s) {
        std::erase_if(s.tensors, [](const auto& t) { return t.first.starts_with("decoder.layers.1."); });
      }),
      "tensors 'decoder.layers.1.linear1.weight', 'decoder.layers.1.linear2.weight', "
      "'decoder.layers.1.multihead_attn.in_proj_bias' and 13 more are missing: check whether model.decoder_layers "
      "matches the file");
}

TEST_F(PytorchImport, AnExtraTensorIsNamedWithTheOption) {
  const StateDict::Values ones{{12}, std::vector<float>(12, 1)};
  EXPECT_EQ(refusal([&](StateDict& s) { s.tensors["decoder.norm.bias"] = s.tensors["decoder.norm.weight"] = ones; }),
            "tensors 'decoder.norm.bias', 'decoder.norm.weight' are not in the model: check whether model.final_norm "
            "matches the file");
  EXPECT_EQ(refusal([&](StateDict& s) { s.tensors["foo"] = ones; }),
            "tensor 'foo' is not in the model: docs/pytorch.md lists names and shapes");
}

TEST_F(PytorchImport, NamesOfTheFileAreEscapedAndShortened) {
  const StateDict::Values one{{1}, {1}};
  EXPECT_EQ(refusal([&](StateDict& s) { s.tensors["a\n\x1b[2J" + std::string(1, '\0')] = one; }),
            "tensor 'a\\n\\x1b[2J\\x00' is not in the model: docs/pytorch.md lists names and shapes");
  EXPECT_EQ(refusal([&](StateDict& s) { s.tensors[std::string(200'000, 'x')] = one; }),
            "tensor '" + std::string(80, 'x') + "...' is not in the model: docs/pytorch.md lists names and shapes");
}

TEST_F(PytorchImport, TakesNoMemoryForAModelThatTheFileDoesNotHold) {
  ModelConfig huge = config_;
  huge.feed_forward = 1 << 20, huge.width = 3 << 18;
  huge.resolve(1);
  ParamStore params(0, 1);
  const Transformer model(huge, params, /*num_positions=*/1);
  EXPECT_THROW(read_pytorch_file(path_, huge, params), Error);  // no bad_alloc, no signal
}

TEST_F(PytorchImport, APrefixOfAllNamesIsPointedOut) {
  EXPECT_TRUE(refusal([](StateDict& s) {
                StateDict prefixed = s;
                prefixed.tensors.clear();
                for (const auto& [name, t] : s.tensors) prefixed.tensors["module.model." + name] = t;
                s = prefixed;
              }).ends_with("are not in the model: remove the prefix 'module.model.' before saving"));
}

TEST_F(PytorchImport, AnotherShapeIsSaidWithBoth) {
  EXPECT_EQ(refusal([](StateDict& s) {
              s.tensors["encoder.layers.0.linear1.weight"].first = {12, 20};
            }),
            "tensor 'encoder.layers.0.linear1.weight' has shape [12, 20], but the model needs [20, 12]: check the "
            "[model] section");
}

TEST_F(PytorchImport, AnotherVocabularyIsSaidInRowsAndEntries) {
  EXPECT_EQ(refusal([](StateDict& s) {
              s.tensors["source_embedding.weight"] = {{9, 12}, std::vector<float>(108)};
            }),
            "tensor 'source_embedding.weight' has 9 rows, but the source tokenizer has 11 entries: use the tokenizer "
            "with which the weights were trained");
  EXPECT_NE(refusal([](StateDict& s) {
              s.tensors["output.weight"] = {{9, 12}, std::vector<float>(108)};
            }).find("but the target tokenizer has 11 entries"),
            std::string::npos);
}

TEST_F(PytorchImport, ANumberThatIsNotFiniteIsNamedWithItsPlace) {
  const std::string name = "encoder.layers.0.linear1.weight";
  EXPECT_EQ(refusal([&](StateDict& s) { s.tensors[name].second[2 * 12 + 7] = std::nanf(""); }),
            "tensor '" + name + "' contains nan at [2, 7] (not finite: 1 of 240 values)");
  EXPECT_EQ(refusal([&](StateDict& s) {
              s.tensors[name].second.front() = -std::numeric_limits<float>::infinity();
              s.tensors[name].second.back() = std::numeric_limits<float>::infinity();
            }),
            "tensor '" + name + "' contains -inf at [0, 0] (not finite: 2 of 240 values)");
}

TEST_F(PytorchImport, ABiasThatTheModelLacksMustBeZeroOrAbsent) {
  const std::string name = "decoder.layers.0.linear2.bias";
  EXPECT_EQ(refusal([&](StateDict& s) { s.tensors[name].second[3] = 1e-30f; }),
            "tensor '" + name + "' is not zero, but the model has no such bias: set model.bias_feed_forward = true");
  EXPECT_EQ(refusal([&](StateDict& s) { s.tensors.erase(name); }), "");
}

TEST_F(PytorchImport, NamesOfATiedTableMustHoldTheSameBitsAndOneIsEnough) {
  EXPECT_EQ(refusal([](StateDict& s) { s.tensors["output.weight"].second[0] += 1e-6f; }),
            "tensor 'target_embedding.weight' differs from 'output.weight', but model.tying ties them: use a "
            "different model.tying");
  for (const char* name : {"target_embedding.weight", "output.weight"})
    EXPECT_EQ(refusal([&](StateDict& s) { s.tensors.erase(name); }), "");
  EXPECT_EQ(refusal([](StateDict& s) {
              s.tensors.erase("output.weight");
              s.tensors.erase("target_embedding.weight");
            }),
            "tensors 'output.weight', 'target_embedding.weight' are missing: docs/pytorch.md lists names and shapes");
}

TEST_F(PytorchImport, HalfPrecisionIsWidenedAndOtherTypesAreRefused) {
  write_as("BF16", 2);
  const Weights original(config_, 1), model(config_);
  model.read(path_);
  for (int64_t i = 0; i < model.params.numel(); ++i) {
    const uint32_t kept = std::bit_cast<uint32_t>(original.data()[i]) & 0xFFFF0000u;
    ASSERT_EQ(std::bit_cast<uint32_t>(model.data()[i]), kept);
  }
  Weights(config_, 1).write(path_);
  write_as("I32", 4);
  EXPECT_EQ(refusal_of(path_),
            "tensor 'decoder.layers.0.linear1.bias' has dtype I32, not F32, F16 or BF16: convert it with "
            ".float() before saving");
}

TEST_F(PytorchImport, AFileBehindALinkIsRead) {
  fs::create_symlink(path_, folder_ / "link");
  const Weights model(config_);
  model.read(folder_ / "link");
  EXPECT_TRUE(model.same_bits(Weights(config_, 1)));
}

}  // namespace
}  // namespace weft::testing
