// tests/trainer/export/export_fixture.h: a small model with tokenizers, to be exported.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "data/subword/train_tokenizer.h"
#include "data/tokenizer.h"
#include "model/transformer.h"
#include "tests/support/temporary_folder.h"
#include "trainer/export/exported_model.h"
#include "trainer/export/weights.h"

namespace weft::testing {

inline std::string small_tokenizer(const std::string& alphabet, int entries) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < 300; ++i) {
    std::string line;
    for (size_t k = 0; k < 12; ++k) line += alphabet[(i * 7 + k * (i % 5 + 1)) % alphabet.size()];
    lines.push_back(line);
  }
  return train_tokenizer(lines, {.vocab_size = entries});
}

class Export : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.width = 12, config_.heads = 3, config_.feed_forward = 20;
    config_.encoder_layers = config_.decoder_layers = 1;
    config_.norm = NormPosition::pre, config_.final_norm = true;
  }
  void give_joint_tokenizer() { write_file_atomically(folder_ / "tokenizer.model", small_tokenizer("abcdefgh", 280)); }
  void give_joint_tokenizers_with_two_rules() {
    const std::string model = small_tokenizer("abcdefgh", 280);
    write_file_atomically(folder_ / "source.model", with_normalization(model, Normalization::nmt_nfkc));
    write_file_atomically(folder_ / "target.model", model);
  }
  void give_two_tokenizers() {
    write_file_atomically(folder_ / "source.model", small_tokenizer("abcdefgh", 290));
    write_file_atomically(folder_ / "target.model", small_tokenizer("abcd", 280));
  }

  // The model of config_; every value of its parameters differs from the others.
  ExportedModel model() {
    const bool joint = std::filesystem::exists(folder_ / "tokenizer.model");
    source_ = std::make_shared<Tokenizer>(folder_ / (joint ? "tokenizer.model" : "source.model"));
    target_ = joint ? source_ : std::make_shared<Tokenizer>(folder_ / "target.model");
    config_.source_vocabulary = source_->size(), config_.target_vocabulary = target_->size();
    config_.resolve(1);
    params_ = std::make_unique<ParamStore>(0, 1);
    const Transformer declared(config_, *params_, /*num_positions=*/1);
    params_->allocate();
    float* values = params_->values().ptr<float>();
    for (int64_t i = 0; i < params_->numel(); ++i) values[i] = std::sin(static_cast<float>(i));
    return {.config = config_, .params = *params_, .source = *source_, .target = *target_, .folder = folder_.path()};
  }

  // Values of a parameter of model().
  Values ours(const std::string& name) const { return weft::Weights(config_, *params_).of(name); }
  std::string output() const { return folder_ / "exported"; }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(output()))
      names.insert(entry.path().filename().string());
    return names;
  }

  const TemporaryFolder folder_;
  ModelConfig config_;

 private:
  std::shared_ptr<Tokenizer> source_, target_;
  std::unique_ptr<ParamStore> params_;
};

}  // namespace weft::testing
