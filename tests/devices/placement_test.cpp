// tests/devices/placement_test.cpp: a rank with a GPU on a made-up machine.
#include "parallel/placement/placement.h"

#include <gtest/gtest.h>

#include "tests/parallel/placement/machine.h"
#include "tests/support/device.h"

namespace weft::testing {
namespace {

TEST(PlaceRanks, BindsARankToTheNodeOfItsGpu) {
  Cores both = cores_of_this_thread();
  ASSERT_GE(both.size(), 2u);
  both.resize(2);
  const Machine machine;
  machine.has("devices/system/node/online", "0-1");
  machine.has_node(0, text_of({both[0]}));
  machine.has_node(1, text_of({both[1]}));
  machine.has("bus/pci/devices/" + device_properties(test_device()).pci_address + "/numa_node", "1");
  run_thread_ranks(1, [&](Communicator& world) {
    ASSERT_TRUE(bind_this_thread(both));
    const PlacementReport report = place_ranks(true, {.device = test_device()}, world, machine.sysfs());
    EXPECT_EQ(cores_of_this_thread(), Cores{both[1]});
    EXPECT_TRUE(report.placement.starts_with("1 host x 1 rank: GPU 0, node 1, core ")) << report.placement;
  });
}

}  // namespace
}  // namespace weft::testing
