// parallel/placement/rank_device.h: chooses each rank's device. All ranks decide together, before they allocate memory.
//
// Local rank r of a host uses GPU r, modulo the number of GPUs. All ranks throw a usage Error if a rank lacks a GPU
// that it needs, if ranks share a GPU without permission, or if GPU models or library versions differ.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/context.h"
#include "tensor/enum_names.h"

namespace weft {

enum class DeviceChoice : uint8_t { automatic, cpu, cuda };  // automatic: cuda if every rank has a GPU, else cpu
constexpr EnumNames<DeviceChoice, 3> enum_names(DeviceChoice) {
  return {{{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}}};
}
inline constexpr const char* kDeviceSentence = "cpu, cuda, or auto (cuda if there is a GPU, else cpu)";

struct RankDevice {
  Device device = Device::cpu;
  int index = 0;        // index of the GPU among the GPUs visible to this process
  int num_sharing = 1;  // max ranks of this run per GPU; the same on every rank
  std::string remark;   // why `automatic` chose the CPU, or empty
  // Names the first rank that cannot use NCCL, and why; empty if all ranks can. The text is the same on every rank.
  std::string without_nccl;
};

// Returns true on a machine with NVIDIA's driver, where a user expects that a GPU is used.
bool has_nvidia_driver(const std::filesystem::path& root = "/");

// REQUIRES: all ranks of `world` call it. After the call, the calling thread uses its rank's GPU.
RankDevice choose_device(DeviceChoice wanted, bool share_gpu, Communicator& world);

struct RankGpu {  // what a rank reports to the others
  std::string host;
  int num_gpus = 0;  // GPUs visible to it
  DeviceProperties gpu;
};

// Returns the max number of ranks per GPU. Throws a usage Error if these ranks cannot run together.
int most_ranks_on_a_gpu(const std::vector<RankGpu>& ranks, bool share_gpu);

}  // namespace weft
