// tests/launch/open_model_test.cpp: what rank 0 reads reaches every rank, and so do its errors.
#include "launch/open_model.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tensor/error.h"

namespace weft {
namespace {

TEST(LinesOfRank0, ReachEveryRankEmptyOnesToo) {
  const std::vector<std::string> lines{"", "ein Haus", "", "Bäume", ""};
  run_thread_ranks(3, [&](Communicator& world) {
    EXPECT_EQ(lines_of_rank0(world, [&] { return lines; }), lines);
    EXPECT_TRUE(lines_of_rank0(world, [] { return std::vector<std::string>(); }).empty());
    EXPECT_EQ(lines_of_rank0(world, [] { return std::vector<std::string>{""}; }).size(), 1u);
  });
}

TEST(LinesOfRank0, AreReadOnRank0Alone) {
  std::atomic<int> num_reads = 0;
  run_thread_ranks(3, [&](Communicator& world) {
    lines_of_rank0(world, [&] {
      EXPECT_EQ(world.rank(), 0);
      ++num_reads;
      return std::vector<std::string>{"x"};
    });
  });
  EXPECT_EQ(num_reads, 1);
}

TEST(LinesOfRank0, StopAllRanksWithTheSameMessage) {
  std::atomic<int> num_stopped = 0;
  run_thread_ranks(2, [&](Communicator& world) {
    try {
      lines_of_rank0(world, []() -> std::vector<std::string> { fail(ErrorKind::data, "line 7 is not UTF-8"); });
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::data);
      EXPECT_NE(std::string(e.what()).find("line 7"), std::string::npos);
      ++num_stopped;
    }
  });
  EXPECT_EQ(num_stopped, 2);
}

}  // namespace
}  // namespace weft
