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

std::string refusal(const std::string& from, const std::string& to) {
  return refusal_of(ErrorKind::usage, [&] { require_same_training(from, to); });
}

TEST(RequireSameTraining, RefusesOtherOptimizationUnlessAllowed) {
  const std::string said = refusal("[batch]\nblocks = 1\n[model]\ndropout = 0.1\n[train]\nsteps = 3\n",
                                   "[batch]\nblocks = 2\n[model]\ndropout = 0.3\n[train]\nsteps = 9\n");
  EXPECT_NE(said.find("trained with batch.blocks = 1 (now 2), model.dropout = 0.1 (now 0.3): "), std::string::npos);
  EXPECT_NE(said.find("--train.allow_changes=true"), std::string::npos);
  for (const char* option : {"[train]\nlabel_smoothing", "[optimizer]\nclip_norm", "[schedule]\nlr"})
    refusal(std::string(option) + " = 0.5\n", std::string(option) + " = 0.25\n");
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

}  // namespace
}  // namespace weft::testing
