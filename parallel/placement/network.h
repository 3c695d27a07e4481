// parallel/placement/network.h: the networks of a host, and which of them MPI and NCCL use between hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct NetworkInterface {
  std::string name;
  int64_t mbits = 0;      // a second; 0: unknown
  bool hardware = false;  // not made by software, as bridges and the interfaces of containers are
};

struct HostNetworks {
  std::vector<NetworkInterface> interfaces;  // those with a link, without loopback
  std::vector<std::string> infiniband;       // devices with an active port: "mlx5_0 (400 Gb/s)"; RoCE and EFA, too
};
HostNetworks networks_of_host(const std::string& sysfs = "/sys");

// What the environment says. Open MPI may also have files of settings, and without any it chooses by itself.
struct NetworkChoice {
  std::string mpi_layer;            // OMPI_MCA_pml; empty, ob1: TCP between hosts, as in the archive
  std::string include, exclude;     // OMPI_MCA_btl_tcp_if_include, ..._exclude
  std::string nccl_socket;          // NCCL_SOCKET_IFNAME
  std::string nccl_infiniband;      // NCCL_IB_HCA
  bool without_infiniband = false;  // NCCL_IB_DISABLE
};
NetworkChoice network_choice();

// One line. `gpus`: ranks have GPUs, so NCCL connects them.
std::string describe_networks(const HostNetworks& host, const NetworkChoice& choice, bool gpus);

// Why GPUs on several hosts would wait for this host's network; empty if nothing is known against it.
std::string network_warning(const HostNetworks& host, const NetworkChoice& choice);

}  // namespace weft
