// tests/trainer/run/run_validation_test.cpp: runs with several validation sets: their log, and what is best.
#include <gtest/gtest.h>

#include "data/atomic_file.h"
#include "data/noise/letter_case.h"
#include "tests/support/variable.h"
#include "tests/trainer/run/text_run.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/train_state.h"

namespace weft::testing {
namespace {

// Two named sets; the second has other sentences.
RunConfig config_of_two_sets(const TemporaryFolder& folder) {
  static const TextCorpus others(/*num_pairs=*/30, /*vocabulary=*/290, /*seed=*/2, sixty_pairs().folder());
  RunConfig c = run_config(folder);
  c.data.valid = "dev=" + sixty_pairs().folder() + ",news=" + others.folder();
  return c;
}

std::vector<nlohmann::json> validation_records(const RunConfig& c) {
  std::vector<nlohmann::json> all;
  for (const auto& record : read_event_log(c.train.output + "/log.jsonl"))
    if (record.contains("valid_loss")) all.push_back(record);
  return all;
}

TEST(RunValidation, LogsTheNumbersOfEachNamedSet) {
  const TemporaryFolder folder, alone_folder;
  RunConfig c = config_of_two_sets(folder), alone = run_config(alone_folder);
  c.train.steps = alone.train.steps = 2, c.train.samples = 2;
  run(c);
  run(alone);
  const nlohmann::json record = validation_records(c).at(0), of_one = validation_records(alone).at(0);
  EXPECT_EQ(record.at("sets"), nlohmann::json({"dev", "news"}));
  for (const char* key : {"valid_loss", "valid_nll", "bleu", "chrf"}) {
    EXPECT_EQ(record.at(key), of_one.at(key)) << key;
    const std::string number = std::string(key).starts_with("valid_") ? key + 6 : key;
    EXPECT_EQ(record.at("dev." + number), of_one.at(key)) << key;
    EXPECT_TRUE(record.at("news." + number).is_number()) << key;
    EXPECT_FALSE(of_one.contains("dev." + number));
  }
  EXPECT_NE(record.at("news.loss"), record.at("dev.loss"));
  ASSERT_EQ(record.at("samples").size(), 4u);
  EXPECT_FALSE(record.at("samples").at(1).contains("set"));
  EXPECT_EQ(record.at("samples").at(2).at("set"), "news");
  EXPECT_FALSE(of_one.contains("sets"));
}

TEST(RunValidation, NeedsTheFilesOfTheTokenizerBeforeItTrains) {
  const TemporaryFolder folder;
  const Variable variable("SACREBLEU", "/nowhere");
  RunConfig c = run_config(folder);
  c.train.bleu_tokenize = BleuTokenizer::flores200;
  EXPECT_TRUE(refusal_of_run(c).starts_with("BLEU's tokenizer flores200 needs the model /nowhere/models/"));
}

TEST(RunValidation, MakesNoisyCopiesOfASet) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  const std::string dev = sixty_pairs().folder();
  c.data.valid = fmt::format("dev={},caps={}:upper,typos={}:typos,same={}:none", dev, dev, dev, dev);
  c.train.steps = 2, c.train.samples = 3, c.train.validate_bleu = 60;
  run(c);
  const nlohmann::json record = validation_records(c).at(0);
  EXPECT_EQ(record.at("same.loss"), record.at("dev.loss"));
  EXPECT_NE(record.at("caps.loss"), record.at("dev.loss"));
  EXPECT_NE(record.at("typos.loss"), record.at("dev.loss"));
  for (int i = 0; i < 3; ++i) {
    const auto& sample = record.at("samples").at(static_cast<size_t>(i));
    const auto& caps = record.at("samples").at(static_cast<size_t>(3 + i));
    EXPECT_EQ(caps.at("source"), upper_case(sample.at("source").get<std::string>()));
    EXPECT_EQ(caps.at("reference"), sample.at("reference"));
  }
}

// One of the sets is cut to the rows of a block.
TEST(RunValidation, OfNoisyCopiesIsTheSameOnEveryGrid) {
  std::vector<nlohmann::json> records;
  for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {3, 1}, {2, 2}}) {
    const TemporaryFolder folder;
    RunConfig c = run_config(folder);
    const std::string dev = sixty_pairs().folder();
    c.data.valid = fmt::format("typos={}:typos,caps={}:upper", dev, dev);
    c.train.steps = 1, c.train.validate_bleu = 30, c.train.precision = Precision::f32;
    c.parallel.dp = dp, c.parallel.tp = tp;
    run_thread_ranks(dp * tp, [&](Communicator& world) {
      set_num_threads(1);
      run_training(c, world);
    });
    records.push_back(validation_records(c).at(0));
    for (const char* key : {"typos.loss", "caps.loss", "caps.nll"})
      EXPECT_NEAR(records.back().at(key).get<double>(), records.front().at(key).get<double>(), 1e-5) << key;
    EXPECT_EQ(records.back().at("samples").size(), records.front().at("samples").size());
    for (size_t i = 0; i < records.back().at("samples").size(); ++i)
      EXPECT_EQ(records.back().at("samples").at(i).at("source"), records.front().at("samples").at(i).at("source"));
  }
}

TEST(RunValidation, ChoosesTheBestByASumOverSets) {
  const TemporaryFolder folder;
  RunConfig c = config_of_two_sets(folder);
  c.train.steps = 1000, c.train.patience = 2, c.train.keep_best = "0.5*dev.loss+0.5*news.loss";
  c.schedule.lr = 0;  // it never improves
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(logged(c, "loss").back(), 6);
  EXPECT_EQ(target(c, "best"), "step-00000002");
  EXPECT_NE(read_file(c.train.output + "/checkpoints/latest/state.json").find("0.5*dev.loss+0.5*news.loss"),
            std::string::npos);
}

std::vector<int64_t> kept_steps(const RunConfig& c) {  // the newest first
  std::vector<int64_t> steps;
  for (const std::string& folder : step_folders(c.train.output + "/checkpoints"))
    steps.push_back(step_of_checkpoint(folder));
  return steps;
}

TEST(RunValidation, KeepsTheBestCheckpointsAlsoWhenItResumes) {
  for (const int64_t first_part : all_or_few<std::vector<int64_t>>({4, 6, 12}, {6})) {
    SCOPED_TRACE(first_part);
    const TemporaryFolder folder;
    RunConfig c = run_config(folder);
    c.train.validate_command = "set -- 5 9 1 7 2 0; shift $((WEFT_STEP / 2 - 1)); echo $1";
    c.train.keep_best = "score", c.train.keep_best_checkpoints = 3;
    for (const int64_t steps : {first_part, int64_t{12}}) {
      c.train.steps = steps;
      EXPECT_EQ(run(c), 0);
    }
    EXPECT_EQ(kept_steps(c), (std::vector<int64_t>{12, 8, 4, 2}));
    EXPECT_EQ(target(c, "best"), "step-00000004");
  }
}

TEST(RunValidation, SavesEachStepThatIsOneOfTheBest) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.save_every = 0, c.train.keep_best_checkpoints = 3;
  c.train.steps = 10;
  c.schedule.lr = 0;  // all are equal: the first is the best, and of the others the later ones stay
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(kept_steps(c), (std::vector<int64_t>{10, 8, 2}));
  EXPECT_EQ(target(c, "best"), "step-00000002");
}

TEST(BestScore, KeepsOfStepsThatAreGoneTheBestAlone) {
  BestScore best{.metric = "bleu", .value = 9, .step = 6, .kept = {{2, 7.0}, {4, 8.0}, {6, 9.0}, {8, 5.0}}};
  best.drop_after(3);
  EXPECT_EQ(best.kept, (std::map<int64_t, double>{{2, 7.0}, {6, 9.0}}));
}

TEST(RunValidation, RefusesARuleThatNamesNoSet) {
  const TemporaryFolder folder;
  RunConfig c = config_of_two_sets(folder);
  c.train.keep_best = "test.bleu";
  EXPECT_NE(refusal_of_run(c).find("there is no validation set test; data.valid contains dev, news"),
            std::string::npos);
  c.train.keep_best = "news.bleu", c.train.validate_bleu = 0;
  EXPECT_NE(refusal_of_run(c).find("train.keep_best = news.bleu needs translations"), std::string::npos);
}

TEST(RunValidation, RefusesASetOfAnotherTokenizer) {
  static const TextCorpus other(/*num_pairs=*/30, /*vocabulary=*/285, /*seed=*/2);
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.data.valid = "dev=" + c.data.train + ",news=" + other.folder();
  EXPECT_NE(refusal_of_run(c).find(other.folder() + " was packed with a different tokenizer"), std::string::npos);
}

}  // namespace
}  // namespace weft::testing
