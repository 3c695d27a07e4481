// tests/emulation/runtime_tests/memory_test.cpp: device memory is inaccessible to the host, initially NaN, and
// limited.
#include <cmath>
#include <cstdlib>

#include "tests/emulation/runtime_tests/device_fixture.h"

namespace weft::testing {
namespace {

using MemoryTest = DeviceTest;
using MemoryDeathTest = DeviceTest;

__global__ void write(int* data, int at) { data[at] = 1; }

TEST_F(MemoryTest, FreshMemoryIsNan) {
  for (const float value : on_host(fresh<float>(1000), 1000)) EXPECT_TRUE(std::isnan(value));
  int* pinned = nullptr;
  EXPECT_CUDA(cudaMallocHost(&pinned, 4));
  EXPECT_EQ(*pinned, -1);
  EXPECT_CUDA(cudaFreeHost(pinned));
}

TEST_F(MemoryTest, MemoryIsAlignedTo256Bytes) {
  for (const size_t bytes : {1u, 255u, 4096u, 5000u})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(fresh<std::byte>(bytes)) % 256, 0u);
}

TEST_F(MemoryTest, MoreThanThereIsCannotBeAllocated) {
  size_t free = 0, total = 0;
  EXPECT_CUDA(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(free, total);
  auto* const part = fresh<std::byte>(1 << 20);
  EXPECT_CUDA(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(free, total - (1 << 20));
  void* rest = nullptr;
  EXPECT_EQ(cudaMalloc(&rest, free + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_CUDA(cudaFree(part));
  EXPECT_CUDA(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(free, total);
}

TEST_F(MemoryTest, OnlyWhatWasAllocatedIsFreed) {
  int here = 0;
  EXPECT_EQ(cudaFree(&here), cudaErrorInvalidValue);
  auto* const data = fresh<int>(100);
  EXPECT_EQ(cudaFree(data + 1), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaFree(data));
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaFree(nullptr));
}

TEST_F(MemoryTest, FreeingWaitsForTheDevicesWork) {
  auto* const from = on_device<int>({5});
  auto* const to = fresh<int>(1);
  EXPECT_CUDA(launch(new_stream(), copy, 1, 1, 0, to, from));
  EXPECT_CUDA(cudaFree(from));
  EXPECT_EQ(on_host(to, 1)[0], 5);
}

TEST_F(MemoryTest, AddressesTellWhoseMemoryTheyAre) {
  auto* const data = fresh<std::byte>(100);
  std::byte* pinned = nullptr;
  EXPECT_CUDA(cudaMallocHost(&pinned, 100));
  EXPECT_TRUE(emulation::is_device_memory(data, 100));
  EXPECT_TRUE(emulation::is_device_memory(data + 50, 50, 0));
  EXPECT_FALSE(emulation::is_device_memory(data, 101));
  EXPECT_FALSE(emulation::is_device_memory(data, 100, 1));
  EXPECT_FALSE(emulation::is_device_memory(pinned, 1));
  EXPECT_TRUE(emulation::is_pinned_memory(pinned + 1, 99));
  EXPECT_FALSE(emulation::is_pinned_memory(pinned + 1, 100));
  EXPECT_FALSE(emulation::is_pinned_memory(data, 1));
  EXPECT_CUDA(cudaFreeHost(pinned));
}

TEST_F(MemoryTest, KernelsReadPinnedMemory) {
  int* pinned = nullptr;
  EXPECT_CUDA(cudaMallocHost(&pinned, sizeof(int)));
  *pinned = 3;
  auto* const to = fresh<int>(1);
  EXPECT_CUDA(launch(nullptr, copy, 1, 1, 0, to, pinned));
  EXPECT_EQ(on_host(to, 1)[0], 3);
  EXPECT_CUDA(cudaFreeHost(pinned));
}

TEST_F(MemoryDeathTest, HostCodeMayNotTouchDeviceMemory) {
  auto* const data = on_device<int>({1, 2, 3});
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_DEATH(std::exit(static_cast<volatile int*>(data)[1]), "device memory was touched by host code");
  EXPECT_DEATH(static_cast<volatile int*>(data)[1] = 1, "device memory was touched by host code");
}

void touch(void* data) { *static_cast<volatile int*>(data) = 1; }

TEST_F(MemoryDeathTest, NorMayAHostFunctionInAStream) {
  auto* const data = fresh<int>(1);
  EXPECT_DEATH(
      {
        cudaLaunchHostFunc(nullptr, touch, data);
        cudaDeviceSynchronize();
      },
      "device memory was touched by host code");
}

TEST_F(MemoryDeathTest, AKernelThatLeavesItsAllocationEnds) {
  auto* const data = fresh<int>(64);  // 256 bytes: the next one is no memory
  fresh<int>(64);
  for (const int at : {64, 1000, -1000})
    EXPECT_DEATH(
        {
          launch(nullptr, write, 1, 1, 0, data, at);
          cudaDeviceSynchronize();
        },
        "beyond an allocation|AddressSanitizer");
}

TEST_F(MemoryDeathTest, FreedMemoryIsNoMemory) {
  auto* const data = fresh<int>(64);
  EXPECT_CUDA(cudaFree(data));
  EXPECT_DEATH(
      {
        launch(nullptr, write, 1, 1, 0, data, 0);
        cudaDeviceSynchronize();
      },
      "beyond an allocation");
}

#if defined(__SANITIZE_ADDRESS__)
TEST_F(MemoryDeathTest, AddressSanitizerSeesOneByteTooMuch) {
  auto* const data = fresh<char>(4 * 5 + 1);
  EXPECT_DEATH(
      {
        launch(nullptr, write, 1, 1, 0, reinterpret_cast<int*>(data), 5);
        cudaDeviceSynchronize();
      },
      "AddressSanitizer");
}
#endif

}  // namespace
}  // namespace weft::testing
