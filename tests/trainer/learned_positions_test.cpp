// tests/trainer/learned_positions_test.cpp: training with learned positions: data must fit the tables, and a
// checkpoint keeps their limit on any grid.
#include <gtest/gtest.h>

#include <cmath>

#include "data/corpus.h"
#include "tests/support/errors.h"
#include "tests/support/small_run.h"
#include "tests/support/translate.h"
#include "tests/trainer/inference/translation_fixture.h"
#include "trainer/inference/evaluate.h"
#include "trainer/inference/model_loader.h"
#include "trainer/inference/translator.h"
#include "trainer/plan/run_plan.h"

namespace weft::testing {
namespace {

const TextCorpus& number_words() {
  static const TextCorpus text(/*num_pairs=*/200);
  return text;
}

int64_t longest_sentence() {  // including eos
  const Corpus corpus(number_words().folder());
  return std::max(corpus.manifest().longest_source, corpus.manifest().longest_target) + 1;
}

RunConfig learned_run(int64_t max_positions) {
  RunConfig c;
  c.model.width = 16, c.model.heads = 2, c.model.feed_forward = 24, c.model.encoder_layers = c.model.decoder_layers = 1;
  c.model.positions = Positions::learned, c.model.max_positions = max_positions;
  c.data.train = number_words().folder();
  c.batch.rows = 96, c.batch.blocks = 2, c.batch.page = 8, c.batch.window = 4;
  c.schedule.lr = 3e-3, c.schedule.warmup = 2;
  c.train.output = number_words().path() + "/run";
  return c;
}

std::string refusal(const RunConfig& c) {
  return refusal_of(ErrorKind::usage, [&] { resolved(c, 1); });
}

TEST(LearnedPositionsInTraining, HoldTheLongestSentenceWithItsEos) {
  EXPECT_EQ(refusal(learned_run(longest_sentence())), "");
  EXPECT_EQ(refusal(learned_run(longest_sentence() - 1)),
            fmt::format(
                "{} contains a sentence of {} tokens, including eos, but model.max_positions = {}: raise this option, "
                "or pack again with --max-length {}",
                number_words().folder(), longest_sentence(), longest_sentence() - 1, longest_sentence() - 2));
}

TEST(LearnedPositionsInTraining, HoldTheLongestSentenceOfTheValidationSet) {
  const TemporaryFolder folder;
  RunConfig c = learned_run(longest_sentence());
  std::string line;
  for (int i = 0; i < 40; ++i) line += "one ";
  for (const char* side : {"en", "de"}) write_file_atomically(folder / (std::string("long.") + side), line + "\n");
  pack({.text = {.source = folder / "long.en", .target = folder / "long.de"},
        .output = folder / "valid",
        .tokenizer = number_words().folder() + "/tokenizer.model"},
       [](const char*, int64_t, int64_t) {});
  c.data.valid = folder / "valid";
  c.batch.rows = c.batch.source_rows = 400;
  EXPECT_NE(refusal(c).find(folder / "valid contains a sentence of "), std::string::npos) << refusal(c);
}

TEST(LearnedPositionsInTraining, MayBeShorterThanSentencesThatNoBlockHolds) {
  RunConfig c = learned_run(8);
  c.batch.rows = c.batch.source_rows = 8;
  ASSERT_LT(c.batch.rows, longest_sentence());
  EXPECT_EQ(refusal(c), "");
}

TEST(LearnedPositionsInTraining, NeedNotHoldAPairThatIsLeftOutForItsOtherSide) {
  const TemporaryFolder folder;
  std::string twenty, many;
  for (int i = 0; i < 20; ++i) twenty += "one ";
  for (int i = 0; i < 10; ++i) many += twenty;
  write_file_atomically(folder / "en", "one\ntwo\n" + twenty + "\n");
  write_file_atomically(folder / "de", "one\ntwo\n" + many + "\n");
  pack({.text = {.source = folder / "en", .target = folder / "de"},
        .output = folder / "train",
        .tokenizer = number_words().folder() + "/tokenizer.model",
        .filter = {.max_length = 1000}},
       [](const char*, int64_t, int64_t) {});
  RunConfig c = learned_run(10);
  c.data.train = folder / "train";
  c.batch.rows = c.batch.source_rows = 100;
  EXPECT_EQ(refusal(c), "");
  c.batch.rows = 2000;  // now it fits into a block
  EXPECT_NE(refusal(c).find("train contains a sentence of "), std::string::npos) << refusal(c);
}

TEST(LearnedPositionsInTraining, AreNoVocabularyTables) {
  ModelConfig config = resolved(learned_run(500), 1).model;
  ParamStore learned(0, 1), sinusoids(0, 1);
  const Transformer with(config, learned, 1);
  config.positions = Positions::interleaved;
  const Transformer without(config, sinusoids, 1);
  EXPECT_EQ(vocabulary_numel(learned), vocabulary_numel(sinusoids));
  EXPECT_EQ(learned.global_numel() - sinusoids.global_numel(), 2 * 500 * config.width);
}

TEST(LearnedPositionsInTraining, AreLearnedSavedAndUsedOnAnyGrid) {
  const TemporaryFolder folder;
  RunConfig config = learned_run(longest_sentence());
  std::string step_folder;
  on_grid(2, 1, [&](const Mesh& mesh) {
    RunConfig c = resolved(config, 2);
    c.train.precision = Precision::f32;
    SmallRun run(c, mesh);
    Trainer& trainer = run.trainer;
    const Tensor table = trainer.replica().params().find("source_positions.weight")->value;
    const std::vector<float> before = to_host<float>(trainer.replica().context(), table);
    run.step();
    EXPECT_NE(to_host<float>(trainer.replica().context(), table), before);
    const std::string saved = run.save(folder / "checkpoints");
    if (mesh.world().rank() == 0) step_folder = saved, config = c;
  });
  double scores[2] = {};
  for (int tp : {1, 2})
    on_grid(1, tp, [&](const Mesh& mesh) {
      RunConfig c = config;
      c.parallel = {.dp = 1, .tp = tp};
      LoadedModel model(step_folder, c, mesh);
      EXPECT_EQ(model.replica().model().max_positions(), longest_sentence());
      Translator translator(model.replica(), model.source_tokenizer(), model.target_tokenizer(), c.decode);
      EXPECT_EQ(translator.longest_source(), longest_sentence() - 1);
      const std::vector<int32_t> just_fits(static_cast<size_t>(longest_sentence() - 1), 270), too_long(300, 270);
      const std::vector<NBest> found = translate_tokens(translator, {just_fits, too_long});
      EXPECT_EQ(translator.num_cut(), 1);
      EXPECT_EQ(found[0][0].text, found[1][0].text);
      if (mesh.world().rank() == 0) scores[tp - 1] = found[0][0].score;
      EXPECT_EQ(longest_scored_tokens(model.replica().model()), longest_sentence() - 1);
    });
  EXPECT_NE(scores[0], 0);
  EXPECT_NEAR(scores[0], scores[1], 1e-4 * std::abs(scores[0]));
}

}  // namespace
}  // namespace weft::testing
