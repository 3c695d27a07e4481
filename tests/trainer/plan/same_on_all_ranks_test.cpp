// tests/trainer/plan/same_on_all_ranks_test.cpp: ranks that were given different options or corpora.
#include "trainer/plan/same_on_all_ranks.h"

#include <gtest/gtest.h>

#include "parallel/communicator.h"
#include "tests/support/errors.h"

namespace weft::testing {
namespace {

// What rank 1 of 2 is told, if `change` makes its options.
template <typename Change>
std::string told_to_rank_1(const RunConfig& main, const Change& change) {
  std::string message;
  run_thread_ranks(2, [&](Communicator& world) {
    RunConfig config = main;
    if (world.rank() == 1) change(config);
    const std::string refusal = message_of(ErrorKind::usage, [&] { require_same_on_all_ranks(config, world); });
    if (world.rank() == 1) message = refusal;
  });
  return message;
}

TEST(SameOnAllRanks, NamesTheOptionThatDiffers) {
  const std::string told = told_to_rank_1({}, [](RunConfig& c) { c.train.seed = 2; });
  EXPECT_NE(told.find("rank 1 was given train.seed = 2, rank 0 1"), std::string::npos) << told;
}

TEST(SameOnAllRanks, AcceptsEqualOnesAndOtherDevicesAndTimeouts) {
  run_thread_ranks(3, [](Communicator& world) {
    RunConfig config;
    config.parallel.timeout = 10 + world.rank();
    config.device = world.rank() == 0 ? DeviceChoice::cpu : DeviceChoice::automatic;
    EXPECT_NO_THROW(require_same_on_all_ranks(config, world));
  });
}

}  // namespace
}  // namespace weft::testing
