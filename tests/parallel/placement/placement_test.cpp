// tests/parallel/placement/placement_test.cpp: ranks, which are threads here, bind themselves on a made-up machine.
#include "parallel/placement/placement.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tensor/context.h"
#include "tests/parallel/placement/machine.h"

namespace weft::testing {
namespace {

// Two cores of this machine, each a NUMA node.
class PlaceRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    both_ = cores_of_this_thread();
    ASSERT_GE(both_.size(), 2u);
    both_.resize(2);
    machine_.has("devices/system/node/online", "0-1");
    for (int id = 0; id < 2; ++id) machine_.has_node(id, text_of({both_[static_cast<size_t>(id)]}));
  }
  void TearDown() override { unsetenv("OMP_PLACES"); }

  // Places `size` ranks that may run on both cores, and calls then(world, report).
  template <typename Then>
  void place(int size, bool bind, Then&& then) const {
    run_thread_ranks(size, [&](Communicator& world) {
      ASSERT_TRUE(bind_this_thread(both_));
      then(world, place_ranks(bind, {}, world, machine_.sysfs()));
    });
  }
  bool binds(int size, bool bind = true) const {
    std::atomic<int> bound = 0;
    place(size, bind, [&](Communicator&, const PlacementReport&) { bound += cores_of_this_thread().size() == 1; });
    return bound == size;
  }

  Cores both_;
  const Machine machine_;
};

TEST_F(PlaceRanks, BindsThemToANodeEach) {
  place(2, true, [&](Communicator& world, const PlacementReport& report) {
    EXPECT_EQ(cores_of_this_thread(), Cores{both_[static_cast<size_t>(world.rank())]});
    EXPECT_EQ(report.placement.ends_with("; bound by Weft"), world.is_main_rank()) << report.placement;
  });
}

TEST_F(PlaceRanks, BindsTheThreadsThatTheyStart) {
  place(2, true, [](Communicator&, const PlacementReport&) {
    Cores of_thread;
    std::thread([&] { of_thread = cores_of_this_thread(); }).join();
    EXPECT_EQ(of_thread, cores_of_this_thread());
  });
}

TEST_F(PlaceRanks, LeavesThemWhereTheyAreIfToldSo) { EXPECT_FALSE(binds(2, /*bind=*/false)); }

TEST_F(PlaceRanks, LeavesThemToOpenMpsVariables) {
  setenv("OMP_PLACES", "cores", /*overwrite=*/1);
  EXPECT_FALSE(binds(2));
  unsetenv("OMP_PLACES");
  EXPECT_TRUE(binds(2));
}

TEST_F(PlaceRanks, LeavesARankAloneAllCores) { EXPECT_FALSE(binds(1)); }

TEST_F(PlaceRanks, LeavesThemWithoutSysfs) {
  run_thread_ranks(2, [&](Communicator& world) {
    const Cores before = cores_of_this_thread();
    const PlacementReport report = place_ranks(true, {}, world, machine_.sysfs() + "/nowhere");
    EXPECT_EQ(cores_of_this_thread(), before);
    EXPECT_EQ(report.placement.empty(), !world.is_main_rank());
  });
}

TEST_F(PlaceRanks, GivesThemTheThreadsOfTheirShare) {
  const char* const given = std::getenv("OMP_NUM_THREADS");
  const std::string before = given == nullptr ? "" : given;
  unsetenv("OMP_NUM_THREADS");
  place(4, true, [](Communicator&, const PlacementReport&) { EXPECT_EQ(num_threads(), 1); });
  place(1, true, [](Communicator&, const PlacementReport&) { EXPECT_EQ(num_threads(), 2); });
  if (!before.empty()) setenv("OMP_NUM_THREADS", before.c_str(), 1);
}

}  // namespace
}  // namespace weft::testing
