// tests/support/device_group.h: groups of ranks for tensors on the device under test.
#pragma once

#include <memory>

#include "parallel/rank_device.h"
#include "parallel/staged_communicator.h"
#include "tests/support/device.h"

namespace weft::testing {

// What each rank of `world` computes on: all of them on one GPU.
inline RankDevice rank_on(Device device, const Communicator& world) {
  return {.device = device, .num_sharing = world.size()};
}
inline RankDevice test_rank(const Communicator& world) { return rank_on(test_device(), world); }

// The ranks of `group`, which carries the host's values, for tensors on ctx's device.
class DeviceGroup {
 public:
  DeviceGroup(Context& ctx, Communicator& group)
      : group_(group), staged_(ctx.device() == Device::cpu ? nullptr : make_staged_communicator(group, ctx)) {}
  Communicator& operator*() const { return staged_ ? *staged_ : group_; }

 private:
  Communicator& group_;
  std::unique_ptr<Communicator> staged_;
};

}  // namespace weft::testing
