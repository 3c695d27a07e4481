// tests/emulation/machine/launch_test.cpp: launches that a GPU would refuse are refused.
#include "tensor/cuda/launch.cuh"
#include "tests/emulation/runtime_tests/device_fixture.h"

namespace weft::testing {
namespace {

using LaunchTest = DeviceTest;

__global__ void nothing() {}
__global__ void fill_shared(int* out, int count) {
  int* const shared = cuda::shared_memory<int>();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) shared[i] = i;
  __syncthreads();
  out[threadIdx.x] = shared[count - 1 - static_cast<int>(threadIdx.x)];
}
struct View {
  const int* data;
  int64_t count;
};
__global__ void read_view(int* out, View view) { *out = view.data[view.count - 1]; }

TEST_F(LaunchTest, BlocksAndGridsHaveLimits) {
  const auto status = [](dim3 grid, dim3 block) { return launch(nullptr, nothing, grid, block, 0); };
  EXPECT_EQ(status(1, 1024), cudaSuccess);
  EXPECT_EQ(status(1, dim3(16, 1, 64)), cudaSuccess);
  EXPECT_EQ(status(1, 1025), cudaErrorInvalidConfiguration);
  EXPECT_EQ(status(1, dim3(32, 33)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(status(1, dim3(1, 1, 65)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(status(1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(status(0, 1), cudaErrorInvalidConfiguration);
  EXPECT_EQ(status(dim3(1, 65536), 1), cudaErrorInvalidConfiguration);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidConfiguration),
               "invalid configuration argument: a grid of 1x65536x1 blocks");
  EXPECT_CUDA(cudaDeviceSynchronize());
}

TEST_F(LaunchTest, MuchSharedMemoryMustBeAskedFor) {
  auto* const out = fresh<int>(32);
  const auto status = [&](int bytes) {
    return launch(nullptr, fill_shared, 1, 32, static_cast<size_t>(bytes), out, bytes / 4);
  };
  EXPECT_EQ(status(48 * 1024), cudaSuccess);
  EXPECT_EQ(status(48 * 1024 + 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(fill_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 + 1),
            cudaErrorInvalidValue);
  EXPECT_CUDA(cudaFuncSetAttribute(fill_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  EXPECT_EQ(status(227 * 1024), cudaSuccess);
  EXPECT_EQ(on_host(out, 1)[0], 227 * 1024 / 4 - 1);
}

TEST_F(LaunchTest, SharedMemoryDependsOnTheComputeCapability) {
  const auto most_for = [](const char* compute) {
    setenv("WEFT_EMULATION_COMPUTE", compute, 1);
    int bytes = 0;
    EXPECT_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    const auto allow = [](int wanted) {
      return cudaFuncSetAttribute(fill_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, wanted);
    };
    EXPECT_EQ(allow(bytes), cudaSuccess);
    EXPECT_EQ(allow(bytes + 1), cudaErrorInvalidValue);
    unsetenv("WEFT_EMULATION_COMPUTE");
    return bytes;
  };
  EXPECT_EQ(most_for("8.0"), 163 * 1024);
  EXPECT_EQ(most_for("8.9"), 99 * 1024);
  EXPECT_EQ(most_for("9.0"), 227 * 1024);
}

TEST_F(LaunchTest, AKernelMayNotBeGivenHostMemory) {
  std::vector<int> here(100);
  auto* const out = fresh<int>(32);
  EXPECT_EQ(launch(nullptr, fill_shared, 1, 32, 128, here.data(), 32), cudaErrorInvalidValue);
  EXPECT_EQ(launch(nullptr, read_view, 1, 1, 0, out, View{here.data(), 100}), cudaErrorInvalidValue);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue),
               "invalid argument: argument 1 of the kernel holds an address of host memory");
  EXPECT_CUDA(launch(nullptr, read_view, 1, 1, 0, out, View{on_device<int>({1, 2}), 2}));
  EXPECT_EQ(on_host(out, 1)[0], 2);
}

TEST_F(LaunchTest, AStreamMustExist) {
  int no_stream = 0;
  EXPECT_EQ(launch(reinterpret_cast<cudaStream_t>(&no_stream), nothing, 1, 1, 0), cudaErrorInvalidResourceHandle);
}

TEST_F(LaunchTest, TheDeviceSaysWhatItCan) {
  cudaDeviceProp properties{};
  EXPECT_CUDA(cudaGetDeviceProperties(&properties, 0));
  EXPECT_EQ(properties.sharedMemPerBlockOptin, 227u * 1024);
  int most_threads = 0;
  EXPECT_CUDA(cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerBlock, 0));
  EXPECT_EQ(most_threads, 1024);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 99), cudaErrorInvalidDevice);
}

#if defined(__SANITIZE_ADDRESS__)
using LaunchDeathTest = DeviceTest;

TEST_F(LaunchDeathTest, AddressSanitizerSeesSharedMemoryThatWasNotAskedFor) {
  auto* const out = fresh<int>(32);
  EXPECT_DEATH(
      {
        launch(nullptr, fill_shared, 1, 32, 127, out, 32);
        cudaDeviceSynchronize();
      },
      "AddressSanitizer: use-after-poison");
}
#endif

}  // namespace
}  // namespace weft::testing
