// tests/parallel/mesh_test.cpp: valid grids for a number of ranks, and the members of each group.
#include "parallel/mesh.h"

#include <gtest/gtest.h>

#include <cmath>

#include "communicator_cases.h"
#include "tests/support/errors.h"

namespace weft {
namespace {

TEST(ResolveGrid, FillsInTheDataParallelRanks) {
  EXPECT_EQ(resolve_grid({.dp = 0, .tp = 1}, 6).dp, 6);
  EXPECT_EQ(resolve_grid({.dp = 0, .tp = 3}, 6).dp, 2);
  EXPECT_EQ(resolve_grid({.dp = 2, .tp = 3}, 6).tp, 3);
  EXPECT_TRUE(resolve_grid({.share_gpu = true}, 6).share_gpu);
}

std::string refusal(ParallelConfig wanted, int ranks) {
  return testing::refusal_of(ErrorKind::usage, [&] { resolve_grid(wanted, ranks); });
}

TEST(ResolveGrid, RefusesWhatDoesNotFitWithNumbersAndOptions) {
  for (const ParallelConfig wanted :
       {ParallelConfig{.dp = 3, .tp = 2}, ParallelConfig{.dp = 0, .tp = 5}, ParallelConfig{.dp = -1, .tp = 2},
        ParallelConfig{.dp = 2, .tp = 0}, ParallelConfig{.dp = int64_t{1} << 40, .tp = int64_t{1} << 40}}) {
    const std::string message = refusal(wanted, 4);
    EXPECT_NE(message.find("parallel.tp"), std::string::npos) << message;
    EXPECT_NE(message.find(std::to_string(wanted.tp)), std::string::npos) << message;
  }
  EXPECT_NE(refusal({.dp = 3, .tp = 2}, 4).find("weft launch -n 6"), std::string::npos);
}

TEST(ResolveGrid, RefusesATimeoutThatIsNone) {
  for (const double timeout : {0.0, -1.0, 1e9, std::nan("")})
    EXPECT_TRUE(refusal({.timeout = timeout}, 1).starts_with("parallel.timeout = ")) << timeout;
  EXPECT_EQ(refusal({.timeout = 0.5}, 1), "");
}

TEST(Mesh, TensorParallelRanksAreNeighbours) {
  run_thread_ranks(6, [](Communicator& world) {
    const Mesh mesh(world, {.dp = 3, .tp = 2});
    EXPECT_EQ(mesh.dp().size(), 3);
    EXPECT_EQ(mesh.tp().size(), 2);
    EXPECT_EQ(world.rank(), mesh.dp().rank() * 2 + mesh.tp().rank());
    EXPECT_EQ(mesh.tp().sum(world.rank()), mesh.dp().rank() * 4 + 1);  // the neighbour: 2d and 2d + 1
    EXPECT_EQ(mesh.dp().sum(world.rank()), 6 + mesh.tp().rank() * 3);  // t, t + 2, t + 4
    EXPECT_EQ(&mesh.world(), &world);
    EXPECT_EQ(mesh.device(), Device::cpu);
  });
}

}  // namespace
}  // namespace weft
