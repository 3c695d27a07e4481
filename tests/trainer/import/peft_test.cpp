// tests/trainer/import/peft_test.cpp: folders of peft become adapters.
// tests/exchange/fine_tuning.py exchanges trained adapters with peft itself.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/export/names/peft_names.h"
#include "trainer/import/imported_model.h"

namespace weft::testing {
namespace {

using nlohmann::json;

class PeftImport : public ::testing::Test {
 protected:
  void SetUp() override {
    base_.width = 8, base_.heads = 2, base_.feed_forward = 12, base_.encoder_layers = base_.decoder_layers = 1;
    base_.positions = Positions::halves;
    base_.source_vocabulary = base_.target_vocabulary = 20;
    write(config());
    ModelConfig adapted = base_;
    adapted.lora = {.rank = 2, .targets = "q,up"};
    std::map<std::string, std::vector<int64_t>> shapes;
    for (const ForeignTensor& t : peft_names(adapted)) shapes[t.name] = t.shape;
    SafetensorsWriter writer(folder_ / "adapter_model.safetensors", shapes);
    float next = 0;
    for (const auto& [name, shape] : shapes) {
      std::vector<float> values(static_cast<size_t>(shape[0] * shape[1]));
      for (float& value : values) value = ++next;
      first_[name] = values[0];
      writer.write(values.data(), std::ssize(values));
    }
    writer.finish();
  }
  static json config() {
    return {{"peft_type", "LORA"}, {"r", 2},         {"lora_alpha", 8},
            {"lora_dropout", 0.1}, {"bias", "none"}, {"target_modules", {"q_proj", "fc1"}}};
  }
  void write(const json& config) const { write_file_atomically(folder_ / "adapter_config.json", config.dump()); }
  std::string refusal() const {
    return refusal_of(ErrorKind::checkpoint, [&] { import_peft(folder_.path(), base_); });
  }

  const TemporaryFolder folder_;
  ModelConfig base_;
  std::map<std::string, float> first_;
};

TEST_F(PeftImport, TakesOptionsAndPartsOfFusedMatrices) {
  const ImportedAdapters imported = import_peft(folder_.path(), base_);
  EXPECT_EQ(imported.lora.rank, 2);
  EXPECT_EQ(imported.lora.scale(), 4);
  EXPECT_EQ(imported.lora.dropout, 0.1);
  EXPECT_EQ(imported.lora.targets, "q,up");
  const auto expect_first = [&](const char* ours, const std::string& theirs, size_t count) {
    std::vector<float> values(count);
    imported.read(ours, values.data());
    EXPECT_EQ(values[0], first_.at("base_model.model.model." + theirs + ".weight")) << ours;
  };
  expect_first("encoder.0.self_attention.qkv.q.lora_a", "encoder.layers.0.self_attn.q_proj.lora_A", 16);
  expect_first("decoder.0.cross_attention.q.lora_b", "decoder.layers.0.encoder_attn.q_proj.lora_B", 16);
  expect_first("decoder.0.feed_forward.up.lora_b", "decoder.layers.0.fc1.lora_B", 24);
}

TEST_F(PeftImport, RefusesWhatWeftCannotCompute) {
  const std::vector<std::tuple<const char*, json, const char*>> changes = {
      {"peft_type", "IA3", "peft_type is 'IA3', but only LORA can be imported"},
      {"use_rslora", true, "use_rslora = true is not supported"},
      {"use_dora", true, "use_dora = true is not supported"},
      {"bias", "all", "bias = 'all' is not supported"},
      {"init_lora_weights", "pissa_niter_16", "init_lora_weights = \\\"pissa_niter_16\\\" is not supported"},
      {"modules_to_save", {"lm_head"}, "modules_to_save is not supported"},
      {"rank_pattern", {{"fc1", 4}}, "rank_pattern is not supported"},
      {"target_modules", {"q_proj", "shared"}, "target_modules contains 'shared'"},
      {"target_modules", "all-linear", "target_modules is all-linear, not a list of texts"},
      {"target_modules",
       {"q_proj", "v_proj"},
       "lacks tensor 'base_model.model.model.encoder.layers.0.self_attn.v_proj.lora_A"},
      {"target_modules", {"q_proj"}, "fc1.lora_A.weight' has no counterpart"},
      {"r", 4, "has shape [2, 8], but adapter_config.json, for this base, describes [4, 8]"},
      {"r", 0, "r must be at least 1"},
      {"lora_alpha", 0, "lora_alpha = 0 must be positive"},
  };
  for (const auto& [key, value, message] : changes) {
    json changed = config();
    changed[key] = value;
    write(changed);
    EXPECT_TRUE(holds(refusal(), message)) << refusal();
  }
}

TEST_F(PeftImport, RefusesABaseWhoseColumnsTransformersHasInAnotherOrder) {
  base_.positions = Positions::interleaved;
  expect_error([&] { import_peft(folder_.path(), base_); }, ErrorKind::usage,
               {"peft cannot adapt a model with model.positions = interleaved"});
}

TEST_F(PeftImport, NeedsTheBaseThatWasAdapted) {
  base_.decoder_layers = 2;
  EXPECT_TRUE(holds(refusal(), "lacks tensor 'base_model.model.model.decoder.layers.1."));
  base_.decoder_layers = 1, base_.width = 16;
  EXPECT_TRUE(holds(refusal(), "has shape [2, 8]"));
}

}  // namespace
}  // namespace weft::testing
