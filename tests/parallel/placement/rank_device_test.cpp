// tests/parallel/placement/rank_device_test.cpp: valid combinations of ranks and GPUs, and the messages if there is no
// GPU.
#include "parallel/placement/rank_device.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "parallel/device_mesh.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/without_cuda.h"

namespace weft::testing {
namespace {

template <typename Action>
std::string refusal(Action&& action) {
  return message_of(ErrorKind::usage, action);
}

RankGpu gpu(const std::string& host, const std::string& unique_id, int num_gpus = 2) {
  return {.host = host,
          .num_gpus = num_gpus,
          .gpu = {.name = "NVIDIA H200", .version = "compute 9.0", .unique_id = unique_id}};
}

TEST(RanksOnGpus, HaveOneEach) {
  EXPECT_EQ(most_ranks_on_a_gpu({gpu("a", "1"), gpu("a", "2"), gpu("b", "3"), gpu("b", "4")}, false), 1);
}

TEST(RanksOnGpus, ThatSeeOnlyTheirOwnHaveOneEach) {  // as assigned by a batch system
  EXPECT_EQ(most_ranks_on_a_gpu({gpu("a", "1", 1), gpu("a", "2", 1)}, false), 1);
}

TEST(RanksOnGpus, ShareNoneUnasked) {
  const std::vector<RankGpu> ranks = {gpu("a", "1"), gpu("b", "2"), gpu("b", "3"), gpu("b", "2")};
  const std::string message = refusal([&] { most_ranks_on_a_gpu(ranks, false); });
  EXPECT_TRUE(holds(message, "rank 1 would share its GPU")) << message;
  EXPECT_TRUE(holds(message, "host b has 2 GPUs for 3 ranks")) << message;
  EXPECT_TRUE(holds(message, "mpirun -N 2") && holds(message, "--parallel.share_gpu")) << message;
  EXPECT_EQ(most_ranks_on_a_gpu(ranks, true), 2);
}

TEST(RanksOnGpus, AreOfOneKindAndVersion) {
  RankGpu other = gpu("b", "2");
  other.gpu.name = "NVIDIA A100";
  const std::string model = refusal([&] { most_ranks_on_a_gpu({gpu("a", "1"), other}, true); });
  EXPECT_TRUE(holds(model, "rank 1 on b computes on NVIDIA A100") &&
              holds(model, "rank 0 on a computes on NVIDIA H200"))
      << model;
  other = gpu("b", "2");
  other.gpu.version = "compute 9.0, driver 12";
  EXPECT_TRUE(holds(refusal([&] { most_ranks_on_a_gpu({gpu("a", "1"), other}, true); }), "driver 12"));
}

class WithoutGpu : public ::testing::Test {
  const WithoutCuda without_cuda_;
};

TEST_F(WithoutGpu, AutoIsTheCpuAndSaysWhy) {
  const auto world = make_single_communicator();
  const RankDevice own = choose_device(DeviceChoice::automatic, false, *world);
  EXPECT_EQ(own.device, Device::cpu);
  EXPECT_TRUE(holds(own.remark, "libno_such_backend.so")) << own.remark;
  EXPECT_EQ(choose_device(DeviceChoice::cpu, false, *world).remark, "");
}

TEST_F(WithoutGpu, CudaIsRefusedOnEveryRank) {
  run_thread_ranks(3, [](Communicator& world) {
    const std::string message = refusal([&] { choose_device(DeviceChoice::cuda, false, world); });
    EXPECT_TRUE(message.starts_with("rank 0 on " + host_name() + ": ")) << message;
    EXPECT_TRUE(holds(message, "libno_such_backend.so") && holds(message, "--device=cpu")) << message;
  });
}

TEST(DeviceMesh, OnCpusIsTheMeshItself) {
  run_thread_ranks(2, [](Communicator& world) {
    const Mesh mesh(world, {.dp = 2, .tp = 1});
    const DeviceMesh device(mesh, Communication::automatic);
    EXPECT_EQ(&device.dp(), &mesh.dp());
    EXPECT_EQ(&device.tp(), &mesh.tp());
    EXPECT_EQ(device.context().device(), Device::cpu);
    const std::string message = refusal([&] { DeviceMesh(mesh, Communication::nccl); });
    EXPECT_TRUE(holds(message, "parallel.communication = nccl")) << message;
  });
}

TEST(NvidiaDriver, IsFoundByItsFiles) {
  const TemporaryFolder root;
  EXPECT_FALSE(has_nvidia_driver(root.path()));
  std::filesystem::create_directories(root / "dev");
  std::ofstream(root / "dev/nvidiactl") << "";
  EXPECT_TRUE(has_nvidia_driver(root.path()));
}

}  // namespace
}  // namespace weft::testing
