// tests/parallel/communicator_test.cpp: the shared cases on a group of one and on thread ranks; failures of
// ranks.
#include "parallel/communicator.h"

#include <gtest/gtest.h>

#include <atomic>

#include "communicator_cases.h"
#include "parallel/collective.h"

namespace weft {
namespace {

using testing::CommunicatorCase;

class SingleRank : public ::testing::TestWithParam<CommunicatorCase> {};
TEST_P(SingleRank, Does) {
  const auto group = make_single_communicator();
  EXPECT_NO_THROW(GetParam().run(*group));
}

class ThreadRanks : public ::testing::TestWithParam<std::tuple<int, CommunicatorCase>> {};
TEST_P(ThreadRanks, Do) {
  const auto& [size, one] = GetParam();
  EXPECT_NO_THROW(run_thread_ranks(size, one.run));
}

INSTANTIATE_TEST_SUITE_P(Communicator, SingleRank, ::testing::ValuesIn(testing::kCommunicatorCases),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Communicator, ThreadRanks,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4),
                                            ::testing::ValuesIn(testing::kCommunicatorCases)),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<1>(info.param).name, std::get<0>(info.param));
                         });

TEST(ThreadRanks, ABarrierWaitsForAll) {
  std::atomic<int> arrived = 0;
  run_thread_ranks(4, [&](Communicator& world) {
    ++arrived;
    world.barrier();
    EXPECT_EQ(arrived, 4);
  });
}

// The error of `body` on three ranks.
std::string message_of(const std::function<void(Communicator&)>& body) {
  try {
    run_thread_ranks(3, body);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(ThreadRanks, AFailingRankReleasesTheOthersAndItsErrorIsThrown) {
  std::atomic<int> released = 0;
  const std::string message = message_of([&](Communicator& world) {
    const auto pair = world.split(world.rank() / 2, 0);  // ranks 0 and 1 wait in a group without the failed rank
    if (world.rank() == 2) throw std::runtime_error("disk full");
    try {
      if (world.rank() == 0) pair->barrier();
      world.barrier();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::peer);
      ++released;
      throw;
    }
  });
  EXPECT_EQ(message, "disk full");
  EXPECT_EQ(released, 2);
}

TEST(ThreadRanks, ARankThatReturnsReleasesThoseWhoWaitForIt) {
  EXPECT_EQ(message_of([](Communicator& world) {
              if (world.rank() != 1) world.barrier();
            }),
            "another rank has left the group");
}

TEST(ThreadRanks, DifferentCallsAreRefused) {
  EXPECT_EQ(message_of([](Communicator& world) {
              float x = 0;
              world.rank() == 2 ? world.broadcast(Tensor(&x, {1}), 0) : world.all_reduce(Tensor(&x, {1}));
            }),
            "ranks make different calls: all_reduce of 4 bytes, and broadcast of 4 bytes");
}

TEST(Collective, ColumnSlicesAndWrongSizesAreRefused) {
  const auto group = make_single_communicator();
  float x[6] = {}, y[6] = {};
  EXPECT_THROW(group->all_reduce(Tensor(x, {2, 3}).slice_cols(0, 2)), Error);
  EXPECT_THROW(group->all_gather(Tensor(x, {4}), Tensor(y, {1, 5})), Error);
}

TEST(Collective, ChunksCoverATensorWithoutGaps) {
  for (const int64_t numel : {0, 1, 3, 4, 5, 1000, 1001}) {
    for (const int num_chunks : {1, 2, 3, 7}) {
      int64_t next = 0;
      for (int i = 0; i < num_chunks; ++i) {
        const Chunk chunk = chunk_of(numel, i, num_chunks);
        EXPECT_EQ(chunk.begin, next);
        EXPECT_LE(std::abs(chunk.count - numel / num_chunks), 1);
        next += chunk.count;
      }
      EXPECT_EQ(next, numel);
    }
  }
}

TEST(Collective, PiecesStayBelowTheLimit) {
  std::vector<std::pair<int64_t, int64_t>> pieces;
  const auto note = [&](int64_t begin, int64_t count) { pieces.emplace_back(begin, count); };
  for_each_piece(7, 3, note);
  EXPECT_EQ(pieces, (std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {3, 3}, {6, 1}}));
  pieces.clear();
  for_each_piece(0, 3, note);
  EXPECT_TRUE(pieces.empty());
  for_each_piece(int64_t{5} << 31, int64_t{1} << 31, note);
  EXPECT_EQ(pieces.size(), 5u);
  EXPECT_EQ(pieces.back().first, int64_t{4} << 31);
}

}  // namespace
}  // namespace weft
