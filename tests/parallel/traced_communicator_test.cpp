// tests/parallel/traced_communicator_test.cpp: a traced communicator passes the shared cases and records its
// calls.
#include "parallel/traced_communicator.h"

#include <gtest/gtest.h>

#include "communicator_cases.h"

namespace weft::testing {
namespace {

class TracedRanks : public ::testing::TestWithParam<CommunicatorCase> {};
TEST_P(TracedRanks, Do) {
  EXPECT_NO_THROW(run_thread_ranks(3, [](Communicator& world) {
    OpTrace trace;
    GetParam().run(*make_traced_communicator(world, trace));
  }));
}
INSTANTIATE_TEST_SUITE_P(TracedCommunicator, TracedRanks, ::testing::ValuesIn(kCommunicatorCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Calls that each of two ranks records.
size_t calls_of(const std::function<void(Communicator&)>& body) {
  size_t calls = 0;
  run_thread_ranks(2, [&](Communicator& world) {
    OpTrace trace;
    const auto traced = make_traced_communicator(world, trace);
    body(*traced);
    for (const OpTrace::Call& call : trace.calls) EXPECT_STREQ(call.name, kCollective);
    if (world.rank() == 0) calls = trace.calls.size();
  });
  return calls;
}

TEST(TracedCommunicator, NotesEachCollective) {
  EXPECT_EQ(calls_of([](Communicator& c) {
              std::vector<float> x(2), all(4);
              const Tensor gathered(all.data(), {2, 2});
              c.all_reduce(view(x));
              c.all_gather(view(x), gathered);
              c.reduce_scatter(gathered, view(x));
              c.broadcast(view(x), 0);
              c.barrier();
            }),
            5u);
}

TEST(TracedCommunicator, NotesStartAndWaitOfOneBesideTheCaller) {
  EXPECT_EQ(calls_of([](Communicator& c) {
              std::vector<float> x(2);
              c.start_all_reduce(view(x))->wait();
            }),
            2u);
}

TEST(TracedCommunicator, NotesThoseOfItsGroups) {
  EXPECT_EQ(calls_of([](Communicator& c) { c.split(0, c.rank())->barrier(); }), 1u);
}

}  // namespace
}  // namespace weft::testing
