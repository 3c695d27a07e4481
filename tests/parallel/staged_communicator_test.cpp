// tests/parallel/staged_communicator_test.cpp: the shared cases for a communicator through host memory. With
// the CPU as the device it makes copies, too.
#include "parallel/staged_communicator.h"

#include <gtest/gtest.h>

#include "communicator_cases.h"

namespace weft::testing {
namespace {

class StagedRanks : public ::testing::TestWithParam<std::tuple<int, CommunicatorCase>> {};
TEST_P(StagedRanks, Do) {
  const auto& [size, one] = GetParam();
  EXPECT_NO_THROW(run_thread_ranks(size, [&, one = one](Communicator& world) {
    Context ctx;
    one.run(*make_staged_communicator(world, ctx));
  }));
}
INSTANTIATE_TEST_SUITE_P(StagedCommunicator, StagedRanks,
                         ::testing::Combine(::testing::Values(1, 3), ::testing::ValuesIn(kCommunicatorCases)),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<1>(info.param).name, std::get<0>(info.param));
                         });

TEST(StagedCommunicator, TakesTheTensorAsItIsWhenTheReductionStarts) {
  run_thread_ranks(2, [](Communicator& world) {
    Context ctx;
    const auto staged = make_staged_communicator(world, ctx);
    std::vector<float> x = inputs<float>(world.rank(), 100);
    const auto work = staged->start_all_reduce(view(x));
    std::fill(x.begin(), x.end(), -1.0f);  // like a device that has not finished
    work->wait();
    expect_bits(x, rank_order_sum<float>(2, 100), "sum");
  });
}

}  // namespace
}  // namespace weft::testing
