// tests/trainer/precision_test.cpp: the choice of auto, the precision of resumed runs, and the messages.
#include "trainer/precision.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/run_device.h"
#include "tests/support/text_corpus.h"
#include "tests/trainer/report/read_event_log.h"
#include "trainer/config/config_text.h"
#include "trainer/run/run.h"

namespace weft::testing {
namespace {

constexpr Precision kAuto = Precision::automatic, kF32 = Precision::f32, kBf16 = Precision::bf16, kF16 = Precision::f16;

constexpr HalfInstructions kHasNone, kHasBf16{.bf16 = true}, kHasBoth{.bf16 = true, .f16 = true};

TEST(ChoosePrecision, AutoIsBf16WhereTheProcessorsHaveIt) {
  EXPECT_EQ(choose_precision(kAuto, kHasBf16, "").precision, kBf16);
  EXPECT_EQ(choose_precision(kAuto, kHasNone, "").precision, kF32);
  EXPECT_EQ(choose_precision(kAuto, kHasBf16, "").remark, "");
  EXPECT_EQ(choose_precision(kAuto, kHasNone, "").remark, "");
}

TEST(ChoosePrecision, ARunResumesInThePrecisionItWasTrainedIn) {
  for (const HalfInstructions has : {kHasBf16, kHasNone})
    for (const char* before : {"f32", "bf16", "f16"})
      EXPECT_EQ(choose_precision(kAuto, has, before).precision, precision_named(before)) << before;
  EXPECT_EQ(choose_precision(kAuto, kHasBf16, "bf16").remark, "");
  EXPECT_TRUE(holds(choose_precision(kAuto, kHasBf16, "f32").remark, "continues in f32"));
  EXPECT_TRUE(holds(choose_precision(kAuto, kHasBf16, "f32").remark, "--train.precision=bf16"));
  EXPECT_TRUE(holds(choose_precision(kAuto, kHasNone, "bf16").remark, "--train.precision=f32"));
}

TEST(ChoosePrecision, AForcedOneIsTakenAndAChangeIsSaid) {
  for (const HalfInstructions has : {kHasBf16, kHasNone})
    for (const Precision forced : {kF32, kBf16, kF16})
      for (const char* before : {"", "f32", "bf16", "f16"}) {
        const PrecisionChoice choice = choose_precision(forced, has, before);
        EXPECT_EQ(choice.precision, forced);
        const bool changes = *before && precision_named(before) != forced;
        EXPECT_EQ(holds(choice.remark, "the run has been trained in "), changes) << choice.remark;
      }
}

TEST(ChoosePrecision, SaysWhatIsSlow) {
  EXPECT_TRUE(holds(choose_precision(kBf16, kHasNone, "").remark, "use --train.precision=f32, which is faster"));
  EXPECT_EQ(choose_precision(kBf16, kHasBf16, "").remark, "");
  EXPECT_TRUE(holds(choose_precision(kF16, kHasBf16, "").remark, "use bf16 or f32, which is faster"));
  EXPECT_EQ(choose_precision(kF16, kHasBoth, "").remark, "");
}

TEST(ChoosePrecision, OneProcessorWithoutInstructionsDecidesForAll) {
  run_thread_ranks(3, [](Communicator& world) {
    EXPECT_TRUE(on_every_rank(world, true));
    EXPECT_FALSE(on_every_rank(world, world.rank() != 1));
  });
}

TEST(ChoosePrecision, RefusesANameThatIsNone) { EXPECT_THROW(precision_named("f8"), Error); }

class PrecisionOfARun : public ::testing::Test {
 protected:
  static const TextCorpus& corpus() {
    static const TextCorpus text(/*num_pairs=*/60);
    return text;
  }
  RunConfig config(Precision precision) const {
    RunConfig c;
    c.model.width = 16, c.model.heads = 2, c.model.feed_forward = 16;
    c.model.encoder_layers = c.model.decoder_layers = 1;
    c.data.train = corpus().folder();
    c.batch.rows = 64, c.batch.blocks = 2;
    c.schedule.lr = 1e-3;
    c.train.output = folder_ / "run";
    c.train.steps = 2, c.train.precision = precision;
    use_test_device(c);
    return c;
  }
  // Its output on stderr.
  static std::string train(const RunConfig& c) {
    ::testing::internal::CaptureStderr();
    const auto world = make_single_communicator();
    run_training(c, *world);
    return ::testing::internal::GetCapturedStderr();
  }
  static std::string plan(const RunConfig& c) {
    ::testing::internal::CaptureStdout();
    const auto world = make_single_communicator();
    print_plan(c, *world);
    return ::testing::internal::GetCapturedStdout();
  }
  static std::string kept(const std::string& folder) { return name_of_enum(kept_config(folder).train.precision); }
  std::string saved(int step) const { return kept(fmt::format("{}/checkpoints/step-{:08}", folder_ / "run", step)); }
  static std::string own() {
    return half_instructions(test_device(), *make_single_communicator()).bf16 ? "bf16" : "f32";
  }

  const TemporaryFolder folder_;
};

TEST_F(PrecisionOfARun, IsPlannedAndSavedAsItWasDecided) {
  EXPECT_TRUE(holds(plan(config(kAuto)), "  precision    " + own()));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  EXPECT_TRUE(holds(train(config(kAuto)), "  precision    " + own()));
  EXPECT_EQ(saved(2), own());
  EXPECT_EQ(kept(folder_ / "run"), own());
}

TEST_F(PrecisionOfARun, StaysWhenARunResumes) {
  for (const char* trained : {"f16", "f32", "bf16"}) {
    RunConfig c = config(precision_named(trained));
    c.train.fresh = true;
    train(c);
    c = config(kAuto);
    EXPECT_TRUE(holds(plan(c), std::string("  precision    ") + trained));
    c.train.steps = 3;
    const std::string said = train(c);
    EXPECT_TRUE(holds(said, std::string("  precision    ") + trained)) << said;
    EXPECT_EQ(holds(said, std::string("the run continues in ") + trained), trained != own()) << said;
    EXPECT_EQ(saved(3), trained);
  }
}

TEST_F(PrecisionOfARun, ChangesIfToldTo) {
  train(config(kF32));
  RunConfig c = config(kBf16);
  c.train.steps = 4;
  EXPECT_TRUE(holds(train(c), "the run has been trained in f32 so far and continues in bf16"));
  c.train.steps = 6, c.train.precision = kF32;
  EXPECT_TRUE(holds(train(c), "the run has been trained in bf16 so far and continues in f32"));
  EXPECT_EQ(saved(6), "f32");
}

TEST_F(PrecisionOfARun, IsInThePlan) {
  EXPECT_TRUE(holds(plan(config(kBf16)), "bf16 activations and matmuls"));
  EXPECT_TRUE(holds(plan(config(kF32)), "f32 throughout"));
}

// With weights of 1e30 neither a gradient nor the loss is finite. In f16, steps that lower the loss scale from 2^16 to
// 1 do not count as lost, but 20 losses in a row do (trainer/health/divergence.h).
TEST_F(PrecisionOfARun, HasDivergedWhenNoStepIsFinite) {
  for (const auto& [precision, skipped] : {std::pair{kF32, 5}, {kBf16, 5}, {kF16, 20}}) {
    RunConfig c = config(precision);
    c.train.output = folder_ / name_of(storage_of(precision));
    c.schedule.lr = 1e30, c.schedule.warmup = 0, c.train.steps = 100;
    message_of(ErrorKind::diverged, [&] { train(c); });
    ::testing::internal::GetCapturedStderr();
    int logged = 0;
    for (const auto& record : read_event_log(c.train.output + "/log.jsonl")) logged += record.contains("skipped");
    EXPECT_EQ(logged, skipped) << c.train.output;
  }
}

}  // namespace
}  // namespace weft::testing
