// parallel/placement/network.h: finds the networks of a host, and those that MPI and NCCL use between hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct NetworkInterface {
  std::string name;
  int64_t mbits = 0;      // Mb/s; 0: unknown
  bool hardware = false;  // false for software interfaces, such as bridges and container interfaces
};

struct HostNetworks {
  std::vector<NetworkInterface> interfaces;  // interfaces with a link, except loopback
  std::vector<std::string> infiniband;       // devices with an active port: "mlx5_0 (400 Gb/s)"; includes RoCE and EFA
};
HostNetworks networks_of_host(const std::string& sysfs = "/sys");

// Holds settings from the environment. Open MPI may also read settings from files; without settings, it chooses itself.
struct NetworkChoice {
  std::string mpi_layer;            // OMPI_MCA_pml; empty or ob1: TCP between hosts, as in the archive
  std::string include, exclude;     // OMPI_MCA_btl_tcp_if_include, ..._exclude
  std::string nccl_socket;          // NCCL_SOCKET_IFNAME
  std::string nccl_infiniband;      // NCCL_IB_HCA
  bool without_infiniband = false;  // NCCL_IB_DISABLE
};
NetworkChoice network_choice();

// Describes the networks in one line. If `gpus` is set, ranks compute on GPUs, so NCCL connects them.
std::string describe_networks(const HostNetworks& host, const NetworkChoice& choice, bool gpus);

// Returns why GPUs on several hosts would wait for this host's network, or "" if there is no known reason.
std::string network_warning(const HostNetworks& host, const NetworkChoice& choice);

}  // namespace weft
