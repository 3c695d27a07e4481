// tests/support/device_group.h: groups of ranks for tensors on the device under test.
//
// Between GPUs they go through host memory, or over NCCL if WEFT_TEST_COMMUNICATION is nccl.
#pragma once

#include <memory>

#include "parallel/device_mesh.h"
#include "parallel/placement/rank_device.h"
#include "tests/support/device.h"

namespace weft::testing {

// The device of each rank of `world`: all ranks share one GPU.
inline RankDevice rank_on(Device device, const Communicator& world) {
  return {.device = device, .num_sharing = world.size()};
}
inline RankDevice test_rank(const Communicator& world) { return rank_on(test_device(), world); }

inline DeviceChoice test_device_choice() {
  return test_device() == Device::cuda ? DeviceChoice::cuda : DeviceChoice::cpu;
}

inline Communication test_communication() {
  const char* const chosen = std::getenv("WEFT_TEST_COMMUNICATION");
  const std::string_view name = chosen == nullptr ? "mpi" : chosen;
  if (name != "mpi" && name != "nccl")
    fail(ErrorKind::usage, fmt::format("WEFT_TEST_COMMUNICATION is {}: mpi or nccl", name));
  return name == "nccl" ? Communication::nccl : Communication::mpi;
}

// A communicator for tensors on ctx's device; `group` exchanges host values between the same ranks.
class DeviceGroup {
 public:
  DeviceGroup(Context& ctx, Communicator& group)
      : group_(group),
        between_gpus_(ctx.device() == Device::cpu
                          ? nullptr
                          : make_device_communicator(ctx, group, {.device = ctx.device()}, test_communication())) {}
  Communicator& operator*() const { return between_gpus_ ? *between_gpus_ : group_; }

 private:
  Communicator& group_;
  std::unique_ptr<Communicator> between_gpus_;
};

}  // namespace weft::testing
