// tests/trainer/inference/model_loader_test.cpp: a checkpoint's folder suffices to use its model on any grid.
#include "trainer/inference/model_loader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/translate.h"
#include "tests/trainer/inference/translation_fixture.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/inference/translator.h"

namespace weft {
namespace {

using testing::on_grid;
using testing::RandomModel;

class ModelLoaderTest : public ::testing::Test {
 protected:
  // A checkpoint of step 40 with a tokenizer, and its model's translations of `lines_`.
  void SetUp() override {
    const std::string tokenizer_file = testing::write_tokenizer(folder_ / "tokenizer.model");
    const Tokenizer tokenizer(tokenizer_file);
    config_.model = testing::small_model_config(tokenizer.size());
    config_.decode = {.beam = 3, .max_length_factor = 0, .max_length_extra = 8};
    on_grid(1, 1, [&](const Mesh& mesh) {
      RandomModel m(config_.model, mesh, /*max_positions=*/1024);
      step_folder_ =
          save_checkpoint(m.ctx, folder_ / "checkpoints", mesh,
                          {.step = 40,
                           .params = m.params,
                           .buffers = {{"model", "", m.params.values()}},
                           .state = {{"step", 40}},
                           .extras = {.config = "", .files = {{"tokenizer.model", read_file(tokenizer_file)}}}});
      Translator translator(m.replica, tokenizer, tokenizer, config_.decode);
      expected_ = testing::translate_lines(translator, lines_);
    });
  }
  testing::TemporaryFolder folder_;
  RunConfig config_;
  std::string step_folder_;
  std::vector<std::string> lines_ = testing::sample_lines(testing::all_or_few(6, 2));
  std::vector<NBest> expected_;
};

TEST_F(ModelLoaderTest, GivesTheModelThatWasSavedOnAnyGrid) {
  for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
    on_grid(dp, tp, [&, dp = dp, tp = tp](const Mesh& mesh) {
      RunConfig config = config_;
      config.parallel = {.dp = dp, .tp = tp};
      LoadedModel model(step_folder_, config, mesh);
      EXPECT_EQ(model.step(), 40);
      Translator translator(model.replica(), model.source_tokenizer(), model.target_tokenizer(), config.decode);
      const std::vector<NBest> found = testing::translate_lines(translator, lines_);
      for (size_t i = 0; i < lines_.size(); ++i) EXPECT_EQ(found[i][0].text, expected_[i][0].text);
    });
  }
}

TEST_F(ModelLoaderTest, StopsAllRanksWhenTheTokenizerDoesNotMatch) {
  config_.model.source_vocabulary = config_.model.target_vocabulary = 17;
  config_.parallel = {.dp = 2, .tp = 1};
  on_grid(2, 1, [&](const Mesh& mesh) {
    testing::expect_error([&] { LoadedModel model(step_folder_, config_, mesh); }, ErrorKind::checkpoint,
                          {"source tokenizer"});
  });
}

TEST_F(ModelLoaderTest, ReadsSeparateTokenizersWhereThereIsNoJointOne) {
  const Tokenizers joint = load_tokenizers(step_folder_);
  EXPECT_EQ(joint.source, joint.target);
  const testing::TemporaryFolder separate;
  testing::write_tokenizer(separate / "source.model");
  testing::write_tokenizer(separate / "target.model");
  const Tokenizers two = load_tokenizers(separate / "");
  EXPECT_NE(two.source, two.target);
  EXPECT_EQ(two.source->size(), two.target->size());
}

}  // namespace
}  // namespace weft
