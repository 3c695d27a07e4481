// tests/trainer/plan/memory_fit_test.cpp: a run that does not fit is refused with the numbers and with
// options that help.
#include "trainer/plan/memory_fit.h"

#include <gtest/gtest.h>

#include <regex>

#include "tests/support/device.h"
#include "tests/support/errors.h"
#include "trainer/display/units.h"
#include "trainer/plan/memory_plan.h"

namespace weft::testing {
namespace {

class MemoryFit : public ::testing::Test {
 protected:
  MemoryFit() {
    config_.model.width = 32, config_.model.heads = 4, config_.model.feed_forward = 64;
    config_.model.source_vocabulary = config_.model.target_vocabulary = 300;
    config_.model.resolve(1);
    config_.batch.rows = 1024, config_.batch.source_rows = 1000, config_.batch.blocks = 2;
    config_.train.precision = Precision::f32;
  }
  size_t needed(const RunConfig& c) const { return plan_tensors(c, tp_, test_device()).tensors(); }
  std::string refusal(size_t available) const {
    return refusal_of(ErrorKind::usage, [&] { require_fit(config_, tp_, test_device(), available); });
  }

  std::unique_ptr<Communicator> world_ = make_single_communicator();
  TensorParallel tp_{*world_};
  RunConfig config_;
};

TEST_F(MemoryFit, SaysNothingWhereThePlanFits) { EXPECT_EQ(refusal(needed(config_)), ""); }

TEST_F(MemoryFit, RemarksThatLibrariesHaveLittleRoom) {
  const size_t all = needed(config_);
  const auto remark = [&](size_t room) { return require_fit(config_, tp_, test_device(), all + room); };
  EXPECT_EQ(remark(kRoomForLibraries), "");
  EXPECT_TRUE(holds(remark(kRoomForLibraries - 1), "the run fits with --train.recompute"))
      << remark(kRoomForLibraries - 1);
  EXPECT_TRUE(holds(remark(4096), format_bytes(4096) + " of GPU memory is left")) << remark(4096);
}

TEST_F(MemoryFit, SaysByHowMuchItDoesNot) {
  const size_t all = needed(config_);
  const std::string message = refusal(all - 4096);
  EXPECT_TRUE(holds(message, format_bytes(all)) && holds(message, format_bytes(4096) + " more than")) << message;
}

TEST_F(MemoryFit, NamesRecomputationIfThatIsEnough) {
  RunConfig recomputing = config_;
  recomputing.train.recompute = true;
  ASSERT_LT(needed(recomputing), needed(config_));
  EXPECT_TRUE(refusal(needed(recomputing)).ends_with("the run fits with --train.recompute"));
  EXPECT_FALSE(refusal(needed(recomputing) - 1).ends_with("the run fits with --train.recompute"));
}

TEST_F(MemoryFit, NamesSmallerBlocksThatFitAndMakeTheSameStep) {
  RunConfig half = config_;
  half.batch.rows /= 2, half.batch.source_rows /= 2;
  half.train.recompute = true;
  const size_t available = needed(half);
  const std::string message = refusal(available);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      message, found,
      std::regex("(--train.recompute )?--batch.rows=(\\d+) --batch.source_rows=(\\d+) --batch.blocks=(\\d+)$")))
      << message;
  RunConfig named = config_;
  named.train.recompute = found[1].matched;
  named.batch.rows = std::stoll(found[2]), named.batch.source_rows = std::stoll(found[3]);
  EXPECT_LE(needed(named), available);
  EXPECT_EQ(named.batch.rows * std::stoll(found[4]), config_.batch.rows * config_.batch.blocks);
}

TEST_F(MemoryFit, RefusesWhatTheHostCannotHold) {
  const MemoryPlan plan = plan_tensors(config_, tp_, Device::cpu);
  require_fit_on_host(config_, tp_, plan, plan.total());
  const std::string message =
      refusal_of(ErrorKind::usage, [&] { require_fit_on_host(config_, tp_, plan, plan.total() - 1); });
  EXPECT_TRUE(holds(message, "a rank needs " + format_bytes(plan.total()) + " of memory")) << message;
  EXPECT_TRUE(message.ends_with("the run fits with --train.recompute")) << message;
}

TEST(DescribedMemory, HasTheTotalItsThreeLargestPartsAndTheSumOfTheOthers) {
  constexpr size_t kMiB = 1 << 20;
  MemoryPlan plan{.parameters = 4 * kMiB, .copies = 2 * kMiB, .gradients = 3 * kMiB, .program = 90 * kMiB};
  EXPECT_EQ(describe(plan, "bf16"),
            "99.0 MiB per rank: program 90.0 MiB, parameters 4.0 MiB, gradients 3.0 MiB, others 2.0 MiB");
  plan.device = Device::cuda;
  EXPECT_EQ(describe(plan, "bf16"),
            "9.0 MiB of GPU memory per rank: parameters 4.0 MiB, gradients 3.0 MiB, bf16 parameter copies 2.0 MiB, "
            "others 0 bytes; 90.0 MiB of host memory");
}

TEST_F(MemoryFit, SaysWhenNoBlockIsSmallEnough) { EXPECT_TRUE(holds(refusal(4096), "smaller blocks do not fit")); }

}  // namespace
}  // namespace weft::testing
