// tests/trainer/export/pytorch_test.cpp: the files of the folder, and that the module takes its configuration.
// tests/exchange runs the folder in torch.
#include "trainer/export/pytorch.h"

#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/trainer/export/export_fixture.h"
#include "trainer/export/formats/pytorch_file.h"

namespace weft::testing {
namespace {

class PytorchExport : public Export {
 protected:
  nlohmann::json exported() {
    ExportedModel exported = model();
    exported.beam = 4, exported.length_penalty = 0.5;
    exported.max_length_factor = 1.5, exported.max_length_extra = 7;
    exported.min_length = 3, exported.allow_unknown = true;
    OutputFolder folder(output(), /*force=*/false);
    export_pytorch(exported, folder);
    folder.commit();
    const Values weights = read_pytorch_file(output() + "/model.safetensors", config_, exported.params);
    EXPECT_EQ(weights[5], std::sin(5.0f));
    return nlohmann::json::parse(read_file(output() + "/config.json"));
  }
};

TEST_F(PytorchExport, WritesWeightsModuleTokenizerAndConfiguration) {
  give_joint_tokenizer();
  config_.activation = FeedForwardActivation::gelu_tanh;
  config_.position_offset = 2;
  const nlohmann::json config = exported();
  EXPECT_EQ(files(),
            (std::set<std::string>{"config.json", "model.safetensors", "tokenizer.model", "weft_transformer.py"}));
  EXPECT_EQ(read_file(output() + "/weft_transformer.py"), kPytorchModule);
  EXPECT_EQ(read_file(output() + "/tokenizer.model"), read_file(folder_ / "tokenizer.model"));
  const nlohmann::json& model = config["model"];
  EXPECT_EQ(model["width"], 12);
  EXPECT_EQ(model["heads"], 3);
  EXPECT_EQ(model["norm"], "pre");
  EXPECT_EQ(model["final_norm"], true);
  EXPECT_EQ(model["activation"], "gelu_tanh");
  EXPECT_EQ(model["tying"], "all");
  EXPECT_EQ(model["positions"], "interleaved");
  EXPECT_EQ(model["position_offset"], 2);
  EXPECT_EQ(model["source_vocabulary"], config_.source_vocabulary);
  EXPECT_EQ(config["special_ids"], nlohmann::json({{"unk", 0}, {"bos", 1}, {"eos", 2}, {"start", 1}}));
  EXPECT_EQ(config["decode"], nlohmann::json({{"beam", 4},
                                              {"beam_kind", "shrinking"},
                                              {"length_penalty", 0.5},
                                              {"length_penalty_kind", "gnmt"},
                                              {"max_length_factor", 1.5},
                                              {"max_length_extra", 7},
                                              {"min_length", 3},
                                              {"allow_unknown", true}}));
}

TEST_F(PytorchExport, HasTwoTokenizersAndTheRowsOfLearnedPositions) {
  give_two_tokenizers();
  config_.tying = Tying::output;
  config_.positions = Positions::learned;
  config_.max_positions = 30;
  const nlohmann::json config = exported();
  EXPECT_EQ(files(), (std::set<std::string>{"config.json", "model.safetensors", "source.model", "target.model",
                                            "weft_transformer.py"}));
  EXPECT_EQ(config["model"]["max_positions"], 30);
  EXPECT_EQ(config["model"]["target_vocabulary"], config_.target_vocabulary);
}

TEST_F(PytorchExport, TheModuleTakesEveryOptionOfTheConfiguration) {
  give_joint_tokenizer();
  const std::string text(kPytorchModule);
  const size_t begin = text.find("def __init__(self, source_vocabulary");
  const std::string parameters = text.substr(begin, text.find("):", begin) - begin);
  for (const auto& [name, value] : exported()["model"].items())
    EXPECT_TRUE(holds(parameters, " " + name + ",") || holds(parameters, " " + name + "=")) << name;
}

}  // namespace
}  // namespace weft::testing
