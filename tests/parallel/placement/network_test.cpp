// tests/parallel/placement/network_test.cpp: networks of made-up hosts, and what is said of them.
#include "parallel/placement/network.h"

#include <gtest/gtest.h>

#include "tests/parallel/placement/machine.h"

namespace weft::testing {
namespace {

HostNetworks with_infiniband() {
  return {.interfaces = {{.name = "eth0", .mbits = 1000, .hardware = true}}, .infiniband = {"mlx5_0 (400 Gb/s)"}};
}
HostNetworks with(const NetworkInterface& interface) { return {.interfaces = {interface}}; }

TEST(Networks, AreTheInterfacesThatHaveALink) {
  const Machine machine;
  machine.has_interface("eth0", 25000);
  machine.has_interface("veth1", 10000, /*hardware=*/false);
  machine.has_interface("eth1", 25000);
  machine.has("class/net/eth1/carrier", "0");
  machine.has_interface("lo", 0);
  machine.has("class/net/lo/type", "772");
  machine.has_interface("vm0", -1);
  const HostNetworks found = networks_of_host(machine.sysfs());
  EXPECT_EQ(describe_networks(found, {}, /*gpus=*/false),
            "MPI by default (TCP: all of eth0 (25 Gb/s), veth1 (virtual, 10 Gb/s), vm0)");
  EXPECT_TRUE(networks_of_host(machine.sysfs() + "/nowhere").interfaces.empty());
}

TEST(Networks, IncludeInfinibandWithAnActivePort) {
  const Machine machine;
  machine.has("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  machine.has("class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  machine.has("class/infiniband/mlx5_1/ports/1/state", "1: DOWN");
  EXPECT_EQ(networks_of_host(machine.sysfs()).infiniband, std::vector<std::string>{"mlx5_0 (400 Gb/s)"});
}

TEST(Networks, AreDescribedAsTheEnvironmentChoosesThem) {
  const HostNetworks host = with_infiniband();
  EXPECT_EQ(describe_networks(host, {.include = "ib0"}, false), "MPI over ib0 (OMPI_MCA_btl_tcp_if_include)");
  EXPECT_EQ(describe_networks(host, {.mpi_layer = "ucx"}, false), "MPI over ucx (OMPI_MCA_pml)");
  EXPECT_EQ(describe_networks(host, {.mpi_layer = "ob1", .exclude = "lo,ib0"}, false),
            "MPI by default (TCP: all of eth0 (1 Gb/s) except lo,ib0, OMPI_MCA_btl_tcp_if_exclude)");
  EXPECT_EQ(describe_networks(host, {.include = "eth0"}, true),
            "NCCL over mlx5_0 (400 Gb/s); MPI over eth0 (OMPI_MCA_btl_tcp_if_include)");
  EXPECT_TRUE(
      describe_networks(host, {.nccl_infiniband = "mlx5_0"}, true).starts_with("NCCL over mlx5_0 (NCCL_IB_HCA)"));
  EXPECT_TRUE(describe_networks(host, {.nccl_socket = "eth0", .without_infiniband = true}, true)
                  .starts_with("NCCL over eth0 (NCCL_SOCKET_IFNAME) (NCCL_IB_DISABLE); "));
}

TEST(Networks, AreWarnedOfWhereTheyAreSlowOrVirtual) {
  const auto warns = [](const NetworkInterface& i) {
    return network_warning(with(i), {}).starts_with("no InfiniBand");
  };
  EXPECT_TRUE(warns({.name = "eth0", .mbits = 1000, .hardware = true}));
  EXPECT_TRUE(warns({.name = "veth0", .mbits = 10000, .hardware = false}));
  EXPECT_FALSE(warns({.name = "eth0", .mbits = 10000, .hardware = true}));
  EXPECT_FALSE(warns({.name = "eth0", .mbits = 0, .hardware = true}));  // as in virtual machines
  EXPECT_FALSE(network_warning({}, {}).empty());
  EXPECT_EQ(network_warning(with_infiniband(), {}), "");
  EXPECT_FALSE(network_warning(with_infiniband(), {.without_infiniband = true}).empty());
}

TEST(Networks, AreWarnedOfWhereNcclHasToChooseOne) {
  const HostNetworks host = {.interfaces = {{"eth0", 25000, true}, {"eth1", 25000, true}}};
  EXPECT_EQ(network_warning(host, {}),
            "NCCL may choose any of eth0 (25 Gb/s), eth1 (25 Gb/s): set NCCL_SOCKET_IFNAME to the interface to use");
  EXPECT_EQ(network_warning(host, {.nccl_socket = "eth1"}), "");
  EXPECT_EQ(network_warning({.interfaces = {{"docker0", 0, false}, {"eth1", 25000, true}}}, {}), "");
}

}  // namespace
}  // namespace weft::testing
