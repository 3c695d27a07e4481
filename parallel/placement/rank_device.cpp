// parallel/placement/rank_device.cpp: finds GPUs, assigns them to ranks and compares them over all ranks.
#include "parallel/placement/rank_device.h"

#include <algorithm>

#include "parallel/nccl.h"
#include "tensor/error.h"

namespace weft {
namespace {

std::string reason_without_gpu() {  // empty if this rank has a GPU
  try {
    if (num_devices(Device::cuda) > 0) return "";
  } catch (const Error& e) {
    return e.what();
  }
  return fmt::format(
      "{} has no visible NVIDIA GPU (check the driver and CUDA_VISIBLE_DEVICES); use --device=cpu to run without a GPU",
      host_name());
}

// Returns true if all ranks have a GPU. Throws if only some ranks have one, or if none has one although it is `needed`.
bool every_rank_has_gpu(const std::string& reason, bool needed, Communicator& world) {
  const bool has_gpu = reason.empty();
  const bool any_has = world.max(has_gpu ? 1 : 0) == 1, all_have = world.max(has_gpu ? 0 : 1) == 0;
  all_or_none(world, [&] {
    if (has_gpu || (!needed && !any_has)) return;
    fail(ErrorKind::usage, any_has ? reason + "; other ranks of this run have a GPU" : reason);
  });
  return all_have;
}

// Returns the first rank that cannot use NCCL and why, or "" if there is none. A single rank needs no NCCL.
std::string first_without_nccl(Communicator& world) {
  if (world.size() == 1) return "";
  const std::vector<std::string> hosts = world.all_gather_strings(host_name());
  const std::vector<std::string> reasons = world.all_gather_strings(reason_without_nccl());
  for (size_t r = 0; r < reasons.size(); ++r)
    if (!reasons[r].empty())
      return fmt::format("rank {} on {}: {}", r, hosts[r], reasons[r].substr(0, reasons[r].rfind(';')));
  return "";
}

// Writes one line per member of RankGpu.
std::string to_text(const RankGpu& r) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n", r.host, r.num_gpus, r.gpu.name, r.gpu.version, r.gpu.unique_id);
}

RankGpu from_text(const std::string& text) {
  size_t at = 0;
  const auto next_line = [&] {
    const size_t begin = at, end = text.find('\n', begin);
    at = end + 1;
    return text.substr(begin, end - begin);
  };
  RankGpu r;
  r.host = next_line();
  r.num_gpus = std::stoi(next_line());
  r.gpu.name = next_line();
  r.gpu.version = next_line();
  r.gpu.unique_id = next_line();
  return r;
}

int num_on(const std::vector<RankGpu>& ranks, const std::string& unique_id) {
  return static_cast<int>(
      std::count_if(ranks.begin(), ranks.end(), [&](const RankGpu& r) { return r.gpu.unique_id == unique_id; }));
}

void require_equal(const std::vector<RankGpu>& ranks) {
  const RankGpu& first = ranks.front();
  for (size_t i = 1; i < ranks.size(); ++i) {
    const RankGpu& r = ranks[i];
    if (r.gpu.name == first.gpu.name && r.gpu.version == first.gpu.version) continue;
    fail(ErrorKind::usage,
         fmt::format("rank {} on {} computes on {} ({}), but rank 0 on {} computes on {} ({}): all ranks need the same "
                     "GPU model and library versions",
                     i, r.host, r.gpu.name, r.gpu.version, first.host, first.gpu.name, first.gpu.version));
  }
}

void refuse_sharing(const std::vector<RankGpu>& ranks) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RankGpu& r = ranks[i];
    if (num_on(ranks, r.gpu.unique_id) == 1) continue;
    const auto on_host =
        std::count_if(ranks.begin(), ranks.end(), [&](const RankGpu& other) { return other.host == r.host; });
    fail(ErrorKind::usage,
         fmt::format("rank {} would share its GPU, because host {} has {} for {} ranks; start at most {} ranks per "
                     "host (mpirun -N {}), or allow sharing with --parallel.share_gpu",
                     i, r.host, r.num_gpus == 1 ? "1 GPU" : fmt::format("{} GPUs", r.num_gpus), on_host, r.num_gpus,
                     r.num_gpus));
  }
}

}  // namespace

int most_ranks_on_a_gpu(const std::vector<RankGpu>& ranks, bool share_gpu) {
  require_equal(ranks);
  if (!share_gpu) refuse_sharing(ranks);
  int most = 0;
  for (const RankGpu& r : ranks) most = std::max(most, num_on(ranks, r.gpu.unique_id));
  return most;
}

bool has_nvidia_driver(const std::filesystem::path& root) {
  constexpr const char* kFilesOfADriver[] = {"proc/driver/nvidia/version", "dev/nvidiactl",
                                             "usr/lib/wsl/lib/libcuda.so.1"};  // the last one is for WSL
  return std::any_of(std::begin(kFilesOfADriver), std::end(kFilesOfADriver), [&](const char* file) {
    std::error_code unreadable;
    return std::filesystem::exists(root / file, unreadable);
  });
}

RankDevice choose_device(DeviceChoice wanted, bool share_gpu, Communicator& world) {
  if (wanted == DeviceChoice::cpu) return {};
  const std::string reason = reason_without_gpu();
  if (!every_rank_has_gpu(reason, /*needed=*/wanted == DeviceChoice::cuda, world))
    return {.remark = reason.substr(0, reason.rfind(';'))};
  const auto host = world.split_by_host();
  const int count = num_devices(Device::cuda), index = host->rank() % count;
  const RankGpu mine = all_or_none(world, [&] {
    use_device(Device::cuda, index);
    return RankGpu{host_name(), count, device_properties(Device::cuda)};
  });
  std::vector<RankGpu> ranks;
  for (const std::string& text : world.all_gather_strings(to_text(mine))) ranks.push_back(from_text(text));
  return {.device = Device::cuda,
          .index = index,
          .num_sharing = most_ranks_on_a_gpu(ranks, share_gpu),
          .without_nccl = first_without_nccl(world)};
}

}  // namespace weft
