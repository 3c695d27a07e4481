// parallel/rank_device.h: what each rank computes on, decided by all ranks together before anything is allocated.
//
// On GPUs, the ranks of a host take them in turn: its first rank the first GPU, its second rank the second. What cannot
// be (a rank without a GPU, two ranks on one that was not to be shared, ranks with different GPUs or libraries) is an
// Error of kind usage on all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/context.h"
#include "tensor/enum_names.h"

namespace weft {

enum class DeviceChoice : uint8_t { automatic, cpu, cuda };  // automatic: cuda where every rank has a GPU, else cpu
constexpr EnumNames<DeviceChoice, 3> enum_names(DeviceChoice) {
  return {{{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}}};
}
inline constexpr const char* kDeviceSentence = "cpu, cuda or auto: cuda where there is a GPU, else cpu";

struct RankDevice {
  Device device = Device::cpu;
  int index = 0;        // of the GPU, among those that this process sees
  int num_sharing = 1;  // ranks of this run on one GPU, at most; the same number on every rank
  std::string remark;   // why `automatic` became the CPU, or empty
  // Which rank's GPU cannot use NCCL, and why; empty: all-reduces can use it. The same on every rank.
  std::string without_nccl;
};

// All ranks of `world` call it. The calling thread then uses its rank's GPU.
RankDevice choose_device(DeviceChoice wanted, bool share_gpu, Communicator& world);

struct RankGpu {  // what a rank tells the others
  std::string host;
  int num_gpus = 0;  // that it sees there
  DeviceProperties gpu;
};

// How many ranks compute on one GPU, at most; an Error if these ranks cannot run together.
int most_ranks_on_a_gpu(const std::vector<RankGpu>& ranks, bool share_gpu);

}  // namespace weft
