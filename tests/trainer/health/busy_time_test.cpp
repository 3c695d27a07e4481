// tests/trainer/health/busy_time_test.cpp: waits and pauses are no work.
#include "trainer/health/busy_time.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

class WaitingRank : public Communicator {  // has waited for so many seconds
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(const Tensor&, ReduceOp) override {}
  std::unique_ptr<PendingWork> start_all_reduce(const Tensor&) override { return nullptr; }
  std::unique_ptr<PendingWork> start_all_gather(const Tensor&, const Tensor&) override { return nullptr; }
  std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor&, const Tensor&) override { return nullptr; }
  std::unique_ptr<PendingWork> start_all_to_all(const Tensor&, const Tensor&) override { return nullptr; }
  void all_gather(const Tensor&, const Tensor&) override {}
  void reduce_scatter(const Tensor&, const Tensor&) override {}
  void broadcast(const Tensor&, int) override {}
  void barrier() override {}
  std::unique_ptr<Communicator> split(int, int) override { return nullptr; }
  double seconds_waited() const override { return waited; }

  double waited = 0;
};

constexpr double kLong = 1e6, kTest = 1e3;  // no test takes as many seconds

TEST(BusyTime, WaitsAreSubtractedAndPausesDoNotCount) {
  WaitingRank world;
  BusyTime busy(world);
  busy.resume();
  world.waited += kLong;
  EXPECT_NEAR(busy.take(), -kLong, kTest);  // its clock did not run on
  busy.pause();
  world.waited += kLong;
  busy.resume();
  EXPECT_NEAR(busy.take(), 0, kTest);
}

TEST(BusyTime, WorkBeforeAPauseCounts) {
  WaitingRank world;
  BusyTime busy(world);
  busy.resume();
  world.waited -= kLong;  // as if it had worked
  busy.pause();
  busy.resume();
  busy.resume();
  EXPECT_NEAR(busy.take(), kLong, kTest);
  EXPECT_NEAR(busy.take(), 0, kTest);
}

}  // namespace
}  // namespace weft
