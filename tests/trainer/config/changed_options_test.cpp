// tests/trainer/config/changed_options_test.cpp: which options two configurations disagree about, and which of them a
// run that resumes may have changed.
#include "trainer/config/changed_options.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "trainer/config/config_text.h"

namespace weft::testing {
namespace {

RunConfig config_of(const std::string& text) {
  RunConfig config;
  apply_cfg(text, "test.cfg", config);
  return config;
}

std::vector<std::string> changes(const std::string& from, const std::string& to) {
  std::vector<std::string> texts;
  for (const ChangedOption& o : changed_options(config_of(from), config_of(to)))
    texts.push_back(fmt::format("{} {} {}", o.name, o.from, o.to));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(ChangedOptions, AreNamedWithTheirSections) {
  EXPECT_EQ(changes("[model]\nwidth = 8\nnorm = post\n\n[train]\nseed = 1\n",
                    "# of today\n[model]\nwidth = 8\nnorm = pre\n\n[train]\nseed = 2\n"),
            (Texts{"model.norm post pre", "train.seed 1 2"}));
}

TEST(ChangedOptions, DoNotDependOnHowAValueIsWritten) {
  EXPECT_EQ(changes("[schedule]\nlr = 1e-3\n", "[schedule]\nlr = 0.0010\n"), Texts{});
}

TEST(ChangedOptions, NameStagesAndSchedulesOfStagesThatAreNewOrGone) {
  const std::string one = "[stage.1]\nmix = a\nsteps = 5\n";
  const std::string two = one + "[stage.1.schedule]\nkind = wsd\nlr = 1\n[stage.2]\nmix = b\nsteps = 0\n";
  EXPECT_EQ(changes(one, two), (Texts{"stage.1.schedule.kind not given wsd", "stage.2.mix not given b"}));
  EXPECT_EQ(changes(two, one), (Texts{"stage.1.schedule.kind wsd not given", "stage.2.mix b not given"}));
}

void accept(const std::string& from, const std::string& to, size_t num_stages = 1) {
  EXPECT_NO_THROW(require_resumable(config_of(from), config_of(to), num_stages, /*allow_changes=*/false));
}

std::string refusal(const std::string& from, const std::string& to, size_t num_stages = 1, bool allow_changes = false) {
  return refusal_of(ErrorKind::usage,
                    [&] { require_resumable(config_of(from), config_of(to), num_stages, allow_changes); });
}

TEST(RequireResumable, RefusesOtherOptimizationUnlessAllowed) {
  const std::string said = refusal("[batch]\nblocks = 1\n[model]\ndropout = 0.1\n[train]\nsteps = 3\n",
                                   "[batch]\nblocks = 2\n[model]\ndropout = 0.3\n[train]\nsteps = 9\n");
  EXPECT_NE(said.find("trained with model.dropout = 0.1 (now 0.3), batch.blocks = 1 (now 2): "), std::string::npos);
  EXPECT_NE(said.find("--train.allow_changes=true"), std::string::npos);
  for (const std::string option : {"[train]\nlabel_smoothing", "[optimizer]\nclip_norm", "[schedule]\nlr"}) {
    refusal(option + " = 0.5\n", option + " = 0.25\n");
    EXPECT_NO_THROW(require_resumable(config_of(option + " = 0.5\n"), config_of(option + " = 0.25\n"), 1, true));
  }
}

TEST(RequireResumable, RefusesInAnyCaseWhatTheCheckpointDependsOn) {
  for (const std::string option : {"[train]\nseed", "[batch]\nrows", "[batch]\nlook_ahead", "[model]\nheads"}) {
    const std::string said = refusal(option + " = 4\n", option + " = 5\n", 1, /*allow_changes=*/true);
    EXPECT_NE(said.find(" = 4, but the new value is 5, so "), std::string::npos) << said;
    EXPECT_EQ(said.find("allow_changes"), std::string::npos) << said;
  }
  EXPECT_NE(
      refusal("[optimizer]\nkind = adam\n", "[optimizer]\nkind = muon\n").find("the optimizer state would not fit"),
      std::string::npos);
  EXPECT_NE(refusal("[model]\nactivation = gelu\n", "[model]\nactivation = gelu_tanh\n")
                .find("the parameters would belong to a different model"),
            std::string::npos);
}

TEST(RequireResumable, LetsTheGridSavesAndTheEndOfTheRunChange) {
  accept("[parallel]\ntp = 1\n[train]\nsteps = 3\nsave_every = 1\n",
         "[parallel]\ntp = 2\n[train]\nsteps = 9\nsave_every = 5\n");
}

TEST(RequireResumable, GuardsTheEndOfTheRunIfTheRateFallsUntilThen) {
  const auto config = [](const char* decay, const char* steps) {
    return fmt::format("[schedule]\nkind = cosine\ndecay_steps = {}\n[train]\nsteps = {}\n", decay, steps);
  };
  accept(config("50", "100"), config("50", "200"));
  EXPECT_NE(refusal(config("0", "100"), config("0", "200")).find("train.steps = 100 (now 200)"), std::string::npos);
  const std::string epochs = config("0", "0") + "epochs = ";
  EXPECT_NE(refusal(epochs + "2\n", epochs + "3\n").find("train.epochs = 2 (now 3)"), std::string::npos);
}

// Two stages; the schedule of the second one.
std::string text_of_stages(const std::string& schedule, const std::string& steps = "0",
                           const std::string& train_steps = "9") {
  return fmt::format("[stage.1]\nmix = a\nsteps = 5\n[stage.2]\nmix = b\nsteps = {}\n{}[train]\nsteps = {}\n", steps,
                     schedule.empty() ? "" : "[stage.2.schedule]\n" + schedule + "\ndecay_steps = 0\n", train_steps);
}

TEST(RequireResumable, GuardsTheScheduleOfAStageThatHasBegun) {
  const std::string wsd = text_of_stages("kind = wsd\nlr = 1");
  for (const std::string& other :
       {text_of_stages("kind = wsd\nlr = 2"), text_of_stages("kind = cosine\nlr = 1"), text_of_stages("")})
    for (const bool forward : {true, false}) {
      const std::string &from = forward ? wsd : other, &to = forward ? other : wsd;
      EXPECT_NE(refusal(from, to, 2).find("the run was trained with stage.2.schedule."), std::string::npos);
      accept(from, to, 1);  // it is still to come
    }
}

TEST(RequireResumable, GuardsTheStepsOverWhichTheRateOfTheStageFalls) {
  const std::string wsd = "kind = wsd", constant = "kind = constant";
  EXPECT_NE(refusal(text_of_stages(wsd, "8"), text_of_stages(wsd, "9"), 2).find("stage.2.steps = 8 (now 9)"),
            std::string::npos);
  accept(text_of_stages(wsd, "8"), text_of_stages(wsd, "9"), 1);
  accept(text_of_stages(constant, "8"), text_of_stages(constant, "9"), 2);
  accept(text_of_stages(wsd, "8", "9"), text_of_stages(wsd, "8", "20"), 2);
  EXPECT_NE(refusal(text_of_stages(wsd, "0", "9"), text_of_stages(wsd, "0", "20"), 2).find("train.steps = 9 (now 20)"),
            std::string::npos);
}

TEST(RequireResumable, GuardsTheEndsOfStagesThatAreOver) {
  const std::string before = "[stage.1]\nmix = a\nsteps = 5\ntokens = 0\n[stage.2]\nmix = b\nsteps = 6\n";
  const std::string after = "[stage.1]\nmix = a\nsteps = 0\ntokens = 9\n[stage.2]\nmix = b\nsteps = 7\n";
  const std::string said = refusal(before, after, 2);
  EXPECT_NE(said.find("with stage.1.steps = 5 (now 0), stage.1.tokens = 0 (now 9): use"), std::string::npos) << said;
  accept(before, after, 1);
}

TEST(RequireResumable, RefusesAnotherBeta1OfAScheduleFreeOptimizer) {
  const auto config = [](const char* kind, double beta1) {
    return fmt::format("[optimizer]\nkind = {}\nbeta1 = {}\n", kind, beta1);
  };
  const std::string said = refusal(config("schedule_free", 0.9), config("schedule_free", 0.98), 1, true);
  EXPECT_TRUE(said.starts_with("optimizer.beta1 = 0.9 cannot change to 0.98")) << said;
  accept(config("schedule_free", 0.9), config("schedule_free", 0.9));
  EXPECT_NO_THROW(require_resumable(config_of(config("adam", 0.9)), config_of(config("adam", 0.98)), 1, true));
}

TEST(RequireSameModel, NamesWhatTheShapesDoNotShow) {
  ModelConfig heads, width;
  heads.heads = 16, width.dropout = 0.3;
  EXPECT_EQ(refusal_of(ErrorKind::usage, [&] { require_same_model(heads, ModelConfig(), "run"); }),
            "the model in run has model.heads = 16, but this run has 8: use the model's value");
  EXPECT_NO_THROW(require_same_model(width, ModelConfig(), "run"));
}

}  // namespace
}  // namespace weft::testing
