// tests/trainer/plan/config_difference_test.cpp: which options two .cfg texts disagree about.
#include "trainer/plan/config_difference.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::testing {
namespace {

TEST(ConfigDifference, NamesOptionsWithTheirSections) {
  const auto changed = config_differences("[model]\nwidth = 8\nnorm = post\n\n[train]\nseed = 1\n",
                                          "# of today\n[model]\nwidth = 8\nnorm = pre\n\n[train]\nseed = 2\n");
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(changed[0].name + " " + changed[0].from + " " + changed[0].to, "model.norm post pre");
  EXPECT_EQ(changed[1].name + " " + changed[1].from + " " + changed[1].to, "train.seed 1 2");
}

TEST(ConfigDifference, IgnoresOptionsThatOneVersionDoesNotHave) {
  EXPECT_TRUE(config_differences("[train]\nold = 1\nseed = 3\n", "[train]\nseed = 3\nnew = 2\n").empty());
}

TEST(ConfigDifference, NamesStagesAndSchedulesOfStagesThatAreNew) {
  const auto changed = config_differences("[stage.1]\nmix = a\nsteps = 5\n",
                                          "[stage.1]\nmix = a\nsteps = 5\n[stage.1.schedule]\nkind = wsd\nlr = 1\n"
                                          "[stage.2]\nmix = b\nsteps = 0\n");
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(changed[0].name + " " + changed[0].from + " " + changed[0].to, "stage.1.schedule.kind not given wsd");
  EXPECT_EQ(changed[1].name + " " + changed[1].from + " " + changed[1].to, "stage.2.mix not given b");
}

TEST(ConfigDifference, NamesStagesAndSchedulesOfStagesThatAreGone) {
  const auto changed =
      config_differences("[stage.1]\nmix = a\n[stage.1.schedule]\nkind = wsd\nlr = 1\n[stage.2]\nmix = b\nsteps = 0\n",
                         "[stage.1]\nmix = a\n");
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(changed[0].name + " " + changed[0].from + " " + changed[0].to, "stage.1.schedule.kind wsd not given");
  EXPECT_EQ(changed[1].name + " " + changed[1].from + " " + changed[1].to, "stage.2.mix b not given");
}

std::string refusal(const std::string& from, const std::string& to, size_t num_stages = 1) {
  return refusal_of(ErrorKind::usage, [&] { require_same_training(from, to, num_stages); });
}

TEST(RequireSameTraining, RefusesOtherOptimizationUnlessAllowed) {
  const std::string said = refusal("[batch]\nblocks = 1\n[model]\ndropout = 0.1\n[train]\nsteps = 3\n",
                                   "[batch]\nblocks = 2\n[model]\ndropout = 0.3\n[train]\nsteps = 9\n");
  EXPECT_NE(said.find("trained with batch.blocks = 1 (now 2), model.dropout = 0.1 (now 0.3): "), std::string::npos);
  EXPECT_NE(said.find("--train.allow_changes=true"), std::string::npos);
  for (const char* option : {"[train]\nlabel_smoothing", "[optimizer]\nclip_norm", "[schedule]\nlr"})
    refusal(std::string(option) + " = 0.5\n", std::string(option) + " = 0.25\n");
}

TEST(RequireSameTraining, LeavesToTheCheckpointWhatNoOptionAllows) {  // the line must not advise allow_changes
  EXPECT_NO_THROW(require_same_training("[optimizer]\nkind = adam\n", "[optimizer]\nkind = muon\n"));
}

TEST(RequireSameTraining, LetsTheGridSavesAndTheEndOfTheRunChange) {
  EXPECT_NO_THROW(require_same_training("[parallel]\ntp = 1\n[train]\nsteps = 3\nsave_every = 1\n",
                                        "[parallel]\ntp = 2\n[train]\nsteps = 9\nsave_every = 5\n"));
}

TEST(RequireSameTraining, TheEndOfTheRunIsThatOfADecayWithoutItsOwn) {
  const auto config = [](const char* decay, const char* steps) {
    return fmt::format("[schedule]\nkind = cosine\ndecay_steps = {}\n[train]\nsteps = {}\n", decay, steps);
  };
  EXPECT_NO_THROW(require_same_training(config("50", "100"), config("50", "200")));
  EXPECT_NE(refusal(config("0", "100"), config("0", "200")).find("train.steps = 100 (now 200)"), std::string::npos);
}

// Two stages; the schedule of the second one.
std::string text_of_stages(const std::string& schedule, const std::string& steps = "0",
                           const std::string& train_steps = "9") {
  return fmt::format("[stage.1]\nmix = a\nsteps = 5\n[stage.2]\nmix = b\nsteps = {}\n{}[train]\nsteps = {}\n", steps,
                     schedule.empty() ? "" : "[stage.2.schedule]\n" + schedule + "\ndecay_steps = 0\n", train_steps);
}

TEST(RequireSameTraining, GuardsTheScheduleOfAStageThatHasBegun) {
  const std::string wsd = text_of_stages("kind = wsd\nlr = 1");
  for (const std::string& other :
       {text_of_stages("kind = wsd\nlr = 2"), text_of_stages("kind = cosine\nlr = 1"), text_of_stages("")})
    for (const bool forward : {true, false}) {
      const std::string &from = forward ? wsd : other, &to = forward ? other : wsd;
      EXPECT_NE(refusal(from, to, 2).find("the run was trained with stage.2.schedule."), std::string::npos);
      EXPECT_NO_THROW(require_same_training(from, to, 1));  // it is still to come
    }
}

TEST(RequireSameTraining, GuardsTheStepsOverWhichTheRateOfTheStageFalls) {
  const std::string wsd = "kind = wsd", constant = "kind = constant";
  EXPECT_NE(refusal(text_of_stages(wsd, "8"), text_of_stages(wsd, "9"), 2).find("stage.2.steps = 8 (now 9)"),
            std::string::npos);
  EXPECT_NO_THROW(require_same_training(text_of_stages(wsd, "8"), text_of_stages(wsd, "9"), 1));
  EXPECT_NO_THROW(require_same_training(text_of_stages(constant, "8"), text_of_stages(constant, "9"), 2));
  EXPECT_NO_THROW(require_same_training(text_of_stages(wsd, "8", "9"), text_of_stages(wsd, "8", "20"), 2));
  EXPECT_NE(refusal(text_of_stages(wsd, "0", "9"), text_of_stages(wsd, "0", "20"), 2).find("train.steps = 9 (now 20)"),
            std::string::npos);
}

TEST(RequireSameTraining, GuardsTheEndsOfStagesThatAreOver) {
  const std::string before = "[stage.1]\nmix = a\nsteps = 5\ntokens = 0\n[stage.2]\nmix = b\nsteps = 6\n";
  const std::string after = "[stage.1]\nmix = a\nsteps = 0\ntokens = 9\n[stage.2]\nmix = b\nsteps = 7\n";
  const std::string said = refusal(before, after, 2);
  EXPECT_NE(said.find("with stage.1.steps = 5 (now 0), stage.1.tokens = 0 (now 9): use"), std::string::npos) << said;
  EXPECT_NO_THROW(require_same_training(before, after, 1));
}

TEST(RequireSameAverage, RefusesAnotherBeta1OfAScheduleFreeOptimizerOnly) {
  const auto config = [](const char* kind, double beta1) {
    return fmt::format("[optimizer]\nkind = {}\nbeta1 = {}\n", kind, beta1);
  };
  const std::string said = refusal_of(
      ErrorKind::usage, [&] { require_same_average(config("schedule_free", 0.9), config("schedule_free", 0.98)); });
  EXPECT_TRUE(said.starts_with("optimizer.beta1 = 0.9 cannot become 0.98")) << said;
  EXPECT_NO_THROW(require_same_average(config("schedule_free", 0.9), config("schedule_free", 0.9)));
  EXPECT_NO_THROW(require_same_average(config("adam", 0.9), config("adam", 0.98)));
}

}  // namespace
}  // namespace weft::testing
