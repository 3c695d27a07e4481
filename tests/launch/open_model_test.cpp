// tests/launch/open_model_test.cpp: every rank gets the lines that rank 0 reads, and its errors.
#include "launch/open_model.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/errors.h"
#include "tests/support/without_cuda.h"

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
  run_thread_ranks(2, [&](Communicator& world) {
    const auto read = []() -> std::vector<std::string> { fail(ErrorKind::data, "line 7 is not UTF-8"); };
    testing::expect_error([&] { lines_of_rank0(world, read); }, ErrorKind::data, {"line 7"});
  });
}

TEST(ConfigForUse, RefusesOptionsOfTrainingAlone) {
  const auto refused = [](const ParallelConfig& grid) {
    return testing::message_of(ErrorKind::usage, [&] { config_for_use("nowhere", grid, /*ranks=*/1); });
  };
  EXPECT_EQ(refused({.zero = 1}), "--parallel.zero applies only to training: leave out the option");
  EXPECT_EQ(refused({.gradient_type = GradientType::bf16}),
            "--parallel.gradient_type applies only to training: leave out the option");
}

TEST(MeshForUse, SaysWhyThereIsNoGpuOnlyWhereOneIsToBeExpected) {
  const testing::WithoutCuda without_cuda;
  const auto alone = make_single_communicator();
  RunConfig config;
  config.parallel = resolve_grid({}, 1);
  const auto said = [&](bool quiet) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(mesh_for_use({.quiet = quiet}, config, *alone).device(), Device::cpu);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(/*quiet=*/true), "");
  EXPECT_EQ(said(/*quiet=*/false).empty(), !has_nvidia_driver());
  EXPECT_THROW(mesh_for_use({.device = DeviceChoice::cuda}, config, *alone), Error);
}

}  // namespace
}  // namespace weft
