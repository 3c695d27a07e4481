// tests/trainer/health/straggler_test.cpp: which working times make a rank a straggler.
#include "trainer/health/straggler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "tensor/random.h"

namespace weft {
namespace {

struct Report {
  int64_t step = 0;
  std::string text;
};

// All reports of `steps` steps in which rank r works busy(step, r) seconds.
std::vector<Report> reports(int ranks, int64_t steps, const std::function<double(int64_t, int)>& busy) {
  std::vector<std::string> hosts;
  for (int r = 0; r < ranks; ++r) hosts.push_back("node" + std::to_string(r / 2));
  StragglerWatch watch(hosts);
  std::vector<Report> all;
  for (int64_t step = 1; step <= steps; ++step) {
    std::vector<double> seconds;
    for (int r = 0; r < ranks; ++r) seconds.push_back(busy(step, r));
    if (std::string text = watch.observe(step, seconds); !text.empty()) all.push_back({step, std::move(text)});
  }
  return all;
}

double around_one(int64_t step, int rank) {  // 0.8 to 1.2
  return 0.8 + 0.4 * random_bits(/*seed=*/1, static_cast<uint64_t>(step), rank, purpose_of("busy")) / 4294967296.0;
}

TEST(Straggler, IsNamedWithHostAndRatioWithinFiftySteps) {
  for (const int ranks : {2, 3, 8})
    for (const int64_t begin : {1, 8, 16, 17}) {
      const auto all = reports(ranks, begin + 50, [&](int64_t step, int rank) {
        return around_one(step, rank) * (rank == ranks - 1 && step >= begin ? 2 : 1);
      });
      ASSERT_EQ(all.size(), 1u) << ranks << " ranks, from step " << begin;
      EXPECT_LE(all[0].step, begin + 49);
      EXPECT_NE(all[0].text.find(fmt::format("rank {} on node{} is slow", ranks - 1, (ranks - 1) / 2)),
                std::string::npos)
          << all[0].text;
    }
}

TEST(Straggler, IsComparedWithTheMedianOfTheOthers) {
  const auto all = reports(4, 32, [](int64_t, int rank) { return rank == 1 ? 3.0 : rank == 3 ? 0.1 : 1.0; });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].text.find("rank 1 on node0"), std::string::npos) << all[0].text;
  EXPECT_NE(all[0].text.find("it worked 3.0 times as long"), std::string::npos) << all[0].text;
}

TEST(Straggler, EvenRanksAreNoneInAThousandSteps) {
  for (const int ranks : {2, 8}) EXPECT_TRUE(reports(ranks, 1000, around_one).empty());
}

TEST(Straggler, LongStepsNowAndThenAreNone) {  // of ranks in turn, and of one rank
  const auto in_turn = [](int64_t step, int rank) { return step % 10 == 0 && step / 10 % 4 == rank ? 50.0 : 1.0; };
  EXPECT_TRUE(reports(4, 1000, in_turn).empty());
  const auto of_one = [](int64_t step, int rank) { return step % 40 == 0 && rank == 2 ? 50.0 : 1.0; };
  EXPECT_TRUE(reports(4, 1000, of_one).empty());
}

TEST(Straggler, ATenthOfASecondIsNone) {  // steps of 5 ms; 64 of them are slow on one rank
  const auto busy = [](int64_t step, int rank) { return rank == 1 && step % 512 < 64 ? 0.01 : 0.005; };
  EXPECT_TRUE(reports(2, 10000, busy).empty());
}

TEST(Straggler, IsNotRepeatedForAThousandSteps) {
  const auto all = reports(2, 2100, [](int64_t, int rank) { return rank == 0 ? 2.0 : 1.0; });
  ASSERT_EQ(all.size(), 3u);
  EXPECT_GE(all[1].step, all[0].step + StragglerWatch::kQuiet);
}

TEST(Straggler, TheOthersWaitForTheSlowest) {
  EXPECT_EQ(slowest_rank({1, 4, 1}), 1);
  EXPECT_DOUBLE_EQ(waiting_share({1, 4, 1}), 0.5);
  EXPECT_DOUBLE_EQ(waiting_share({2, 2}), 0);
}

TEST(BusyWithEqualBlocks, ComparesTheTimeOfABlock) {
  const ParallelConfig grid{.dp = 2, .tp = 2};
  EXPECT_EQ(busy_with_equal_blocks({4, 4, 2, 2}, 3, grid), (std::vector<double>{3, 3, 3, 3}));
  EXPECT_EQ(busy_with_equal_blocks({4, 4, 2, 2}, 4, grid), (std::vector<double>{4, 4, 2, 2}));
  EXPECT_EQ(busy_with_equal_blocks({2, 2, 2, 2}, 1, grid), (std::vector<double>{2, 2, 2, 2}));
}

}  // namespace
}  // namespace weft
