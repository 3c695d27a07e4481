// tests/emulation/machine/kernels_test.cpp: blocks, threads, barriers and shared memory of the emulated device.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tensor/cuda/launch.cuh"
#include "tests/emulation/runtime_tests/device_fixture.h"

namespace weft::testing {
namespace {

using KernelsTest = DeviceTest;

__global__ void write_indices(uint3* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = {block, thread, threadIdx.y};
}

TEST_F(KernelsTest, EveryThreadOfEveryBlockRunsOnce) {
  const dim3 grid(3, 2, 2), block(5, 4, 2);
  auto* const out = fresh<uint3>(12 * 40);
  EXPECT_CUDA(launch(nullptr, write_indices, grid, block, 0, out));
  const auto got = on_host(out, 12 * 40);
  for (unsigned i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].x, i / 40);
    EXPECT_EQ(got[i].y, i % 40);
    EXPECT_EQ(got[i].z, i % 40 / 5 % 4);
  }
}

template <bool with_barrier>
__global__ void reverse(int* out) {
  __shared__ int values[256];
  const unsigned i = threadIdx.x;
  values[i] = static_cast<int>(i);
  if constexpr (with_barrier) __syncthreads();
  out[i] = values[blockDim.x - 1 - i];
}

template <typename Kernel>
int wrong_seeds(Kernel run, const std::vector<int>& expected) {
  int wrong = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    emulation::set_seed(seed);
    wrong += run() != expected;
  }
  return wrong;
}

TEST_F(KernelsTest, ABarrierOrdersTheThreads) {
  auto* const out = fresh<int>(256);
  std::vector<int> expected(256);
  std::iota(expected.rbegin(), expected.rend(), 0);
  const auto run = [&](auto* kernel) {
    EXPECT_CUDA(launch(nullptr, kernel, 1, 256, 0, out));
    return on_host(out, 256);
  };
  EXPECT_EQ(wrong_seeds([&] { return run(reverse<true>); }, expected), 0);
  EXPECT_GT(wrong_seeds([&] { return run(reverse<false>); }, expected), 0);
}

// The second barrier keeps one warp from overwriting what another still reads.
template <bool with_second_barrier>
__global__ void sum_twice(int* out) {
  __shared__ int parts[32];
  int sum = 0;
  for (int round = 1; round <= 2; ++round) {
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = round;
    __syncthreads();
    for (unsigned i = 0; i < blockDim.x / 32; ++i) sum += parts[i];
    if constexpr (with_second_barrier) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

TEST_F(KernelsTest, AMissingBarrierBeforeMemoryIsUsedAgainShows) {
  auto* const out = fresh<int>(128);
  const std::vector<int> expected(128, 4 * (1 + 2));
  const auto run = [&](auto* kernel) {
    EXPECT_CUDA(launch(nullptr, kernel, 1, 128, 0, out));
    return on_host(out, 128);
  };
  EXPECT_EQ(wrong_seeds([&] { return run(sum_twice<true>); }, expected), 0);
  EXPECT_GT(wrong_seeds([&] { return run(sum_twice<false>); }, expected), 0);
}

__global__ void note_order(int* order, int* next) {
  order[atomicAdd(next, 1)] = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

class OrderTest : public DeviceTest {
 protected:
  static std::vector<int> order_of(dim3 grid, dim3 block) {
    const size_t count = grid.x * block.x;
    auto* const order = fresh<int>(count);
    auto* const next = on_device<int>({0});
    EXPECT_CUDA(launch(nullptr, note_order, grid, block, 0, order, next));
    return on_host(order, count);
  }
  static std::set<std::vector<int>> orders_of(dim3 grid, dim3 block) {  // of all seeds
    std::set<std::vector<int>> orders;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      emulation::set_seed(seed);
      orders.insert(order_of(grid, block));
    }
    return orders;
  }
};

TEST_F(OrderTest, BlocksRunInAnotherOrderWithAnotherSeed) {
  const auto orders = orders_of(8, 1);
  EXPECT_GT(orders.size(), kSeeds / 2);
  for (auto order : orders) {
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
}

TEST_F(OrderTest, LanesAndWarpsRunInAnotherOrderWithAnotherSeed) {
  EXPECT_GT(orders_of(1, 32).size(), kSeeds / 2);
  std::set<int> first_warps;
  for (const auto& order : orders_of(1, 64)) first_warps.insert(order.front() / 32);
  EXPECT_EQ(first_warps, (std::set<int>{0, 1}));
}

TEST_F(OrderTest, TheSameSeedGivesTheSameOrder) {
  emulation::set_seed(7);
  const auto order = order_of(8, 64);
  emulation::set_seed(7);
  EXPECT_EQ(order_of(8, 64), order);
}

__global__ void read_fresh_shared(float* out) {
  __shared__ float fixed[64];
  float* const dynamic = cuda::shared_memory<float>();
  out[blockIdx.x * 128 + threadIdx.x] = fixed[threadIdx.x];
  out[blockIdx.x * 128 + 64 + threadIdx.x] = dynamic[threadIdx.x];
  fixed[threadIdx.x] = dynamic[threadIdx.x] = 0.0f;
}

TEST_F(KernelsTest, SharedMemoryIsNanAtTheBeginningOfEachBlock) {
  auto* const out = fresh<float>(4 * 128);
  EXPECT_CUDA(cudaMemset(out, 0, 4 * 128 * sizeof(float)));
  EXPECT_CUDA(launch(nullptr, read_fresh_shared, 4, 64, 64 * sizeof(float), out));
  for (const float value : on_host(out, 4 * 128)) EXPECT_TRUE(std::isnan(value));
}

__global__ void sum_block(float* out) {
  __shared__ float parts[32];
  out[threadIdx.x] = cuda::block_sum(static_cast<float>(threadIdx.x), parts);
}

TEST_F(KernelsTest, ABlockSumOfTheLargestBlockIsTheSameOnEveryThread) {
  auto* const out = fresh<float>(1024);
  EXPECT_CUDA(launch(nullptr, sum_block, 1, 1024, 0, out));
  for (const float value : on_host(out, 1024)) EXPECT_EQ(value, 1023.0f * 512.0f);
}

__global__ void half_leaves() {
  if (threadIdx.x < blockDim.x / 2) __syncthreads();
}
__global__ void two_barriers() {
  if (threadIdx.x % 2 == 0)
    __syncthreads();
  else
    __syncthreads();
}

TEST_F(KernelsTest, ABarrierThatSomeThreadsNeverReachIsAnError) {
  const std::string fault = fault_of(half_leaves, 64);
  EXPECT_NE(fault.find("32 are in __syncthreads at "), std::string::npos) << fault;
  EXPECT_NE(fault.find("32 of 64 have left"), std::string::npos) << fault;
}

TEST_F(KernelsTest, DifferentBarriersAreAnError) {
  const std::string fault = fault_of(two_barriers, 64);
  EXPECT_NE(fault.find("while others are at"), std::string::npos) << fault;
}

TEST_F(KernelsTest, AFaultStaysUntilTheDeviceIsReset) {
  EXPECT_NE(fault_of(half_leaves, 64), "");
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, 1), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_CUDA(cudaDeviceReset());
  cudaGetLastError();
  EXPECT_EQ(fault_of(sum_block, 64, fresh<float>(64)), "");
}

}  // namespace
}  // namespace weft::testing
