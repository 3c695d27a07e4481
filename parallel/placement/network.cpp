// parallel/placement/network.cpp: reads /sys/class/net and /sys/class/infiniband.
#include "parallel/placement/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSlow = 10'000;  // Mb/s, at which gradients of 60 million parameters (250 MB) take 0.2 s

template <typename T>
T value_in(const fs::path& file, T otherwise) {
  std::ifstream in(file);
  T value;
  return in >> value ? value : otherwise;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code none;
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

bool has_link(const fs::path& interface) {
  constexpr int kLoopback = 772;  // ARPHRD_LOOPBACK
  return value_in(interface / "carrier", 0) == 1 && value_in(interface / "type", 0) != kLoopback;
}

NetworkInterface interface_at(const fs::path& folder) {
  std::error_code none;
  return {.name = folder.filename(),
          .mbits = std::max<int64_t>(0, value_in<int64_t>(folder / "speed", 0)),  // -1: unknown
          .hardware = fs::exists(folder / "device", none) || fs::exists(folder / "bonding", none)};
}

std::string active_port_of(const fs::path& device) {  // "mlx5_0 (400 Gb/s)", or empty
  for (const fs::path& port : entries_of(device / "ports")) {
    if (value_in(port / "state", 0) != 4) continue;  // "4: ACTIVE"
    return fmt::format("{} ({} Gb/s)", device.filename().string(), value_in<std::string>(port / "rate", "?"));
  }
  return "";
}

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::string describe_interface(const NetworkInterface& i) {
  const std::string kind = i.hardware ? "" : "virtual";
  if (i.mbits == 0) return kind.empty() ? i.name : fmt::format("{} ({})", i.name, kind);
  return fmt::format("{} ({}{} Gb/s)", i.name, kind.empty() ? "" : kind + ", ", static_cast<double>(i.mbits) / 1000);
}

std::string describe_interfaces(const HostNetworks& host) {
  std::vector<std::string> texts;
  for (const NetworkInterface& i : host.interfaces) texts.push_back(describe_interface(i));
  return texts.empty() ? "no interface with a link" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string describe_mpi(const HostNetworks& host, const NetworkChoice& choice) {
  if (!choice.mpi_layer.empty() && choice.mpi_layer != "ob1")
    return fmt::format("MPI over {} (OMPI_MCA_pml)", choice.mpi_layer);
  if (!choice.include.empty()) return fmt::format("MPI over {} (OMPI_MCA_btl_tcp_if_include)", choice.include);
  const std::string except =
      choice.exclude.empty() ? "" : fmt::format(" except {}, OMPI_MCA_btl_tcp_if_exclude", choice.exclude);
  return fmt::format("MPI by default (TCP: all of {}{})", describe_interfaces(host), except);
}

bool uses_infiniband(const HostNetworks& host, const NetworkChoice& choice) {
  return !host.infiniband.empty() && !choice.without_infiniband;
}

std::string describe_nccl(const HostNetworks& host, const NetworkChoice& choice) {
  if (uses_infiniband(host, choice)) {
    if (!choice.nccl_infiniband.empty()) return fmt::format("NCCL over {} (NCCL_IB_HCA)", choice.nccl_infiniband);
    return fmt::format("NCCL over {}", fmt::join(host.infiniband, ", "));
  }
  const char* const without = choice.without_infiniband ? " (NCCL_IB_DISABLE)" : "";
  if (!choice.nccl_socket.empty())
    return fmt::format("NCCL over {} (NCCL_SOCKET_IFNAME){}", choice.nccl_socket, without);
  return fmt::format("NCCL over one of {}{}", describe_interfaces(host), without);
}

// NCCL itself skips docker's interfaces.
bool may_mislead_nccl(const NetworkInterface& i) { return !i.name.starts_with("docker"); }

}  // namespace

HostNetworks networks_of_host(const std::string& sysfs) {
  HostNetworks found;
  for (const fs::path& folder : entries_of(sysfs + "/class/net"))
    if (has_link(folder)) found.interfaces.push_back(interface_at(folder));
  for (const fs::path& device : entries_of(sysfs + "/class/infiniband"))
    if (const std::string text = active_port_of(device); !text.empty()) found.infiniband.push_back(text);
  return found;
}

NetworkChoice network_choice() {
  return {.mpi_layer = variable("OMPI_MCA_pml"),
          .include = variable("OMPI_MCA_btl_tcp_if_include"),
          .exclude = variable("OMPI_MCA_btl_tcp_if_exclude"),
          .nccl_socket = variable("NCCL_SOCKET_IFNAME"),
          .nccl_infiniband = variable("NCCL_IB_HCA"),
          .without_infiniband = variable("NCCL_IB_DISABLE") == "1"};
}

std::string describe_networks(const HostNetworks& host, const NetworkChoice& choice, bool gpus) {
  const std::string mpi = describe_mpi(host, choice);
  return gpus ? fmt::format("{}; {}", describe_nccl(host, choice), mpi) : mpi;
}

std::string network_warning(const HostNetworks& host, const NetworkChoice& choice) {
  if (uses_infiniband(host, choice)) return "";
  const auto is_fast = [](const NetworkInterface& i) { return i.hardware && (i.mbits == 0 || i.mbits >= kSlow); };
  if (std::ranges::none_of(host.interfaces, is_fast))
    return fmt::format(
        "no InfiniBand and no network card with {} Gb/s or more, only {}: GPUs will wait for the network", kSlow / 1000,
        describe_interfaces(host));
  if (choice.nccl_socket.empty() && std::ranges::count_if(host.interfaces, may_mislead_nccl) > 1)
    return fmt::format("NCCL may choose any of {}: set NCCL_SOCKET_IFNAME to the interface to use",
                       describe_interfaces(host));
  return "";
}

}  // namespace weft
