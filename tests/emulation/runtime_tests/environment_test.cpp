// tests/emulation/runtime_tests/environment_test.cpp: number and memory of devices, set by the environment. It is
// read when a device is first used, so each test runs in a separate process.
#include <cstdlib>

#include "tests/emulation/runtime_tests/device_fixture.h"

namespace weft::testing {
namespace {

class EnvironmentDeathTest : public ::testing::Test {
 protected:
  EnvironmentDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  ~EnvironmentDeathTest() override { GTEST_FLAG_SET(death_test_style, "fast"); }
};

[[noreturn]] void end(bool right) { std::exit(right ? 0 : 1); }

[[noreturn]] void use_little_memory() {
  setenv("WEFT_EMULATION_MEMORY", "1048576", 1);
  size_t free = 0, total = 0;
  void* data = nullptr;
  end(cudaMemGetInfo(&free, &total) == cudaSuccess && free == 1048576 && total == 1048576 &&
      cudaMalloc(&data, 1048577) == cudaErrorMemoryAllocation && cudaMalloc(&data, 1048576) == cudaSuccess);
}

[[noreturn]] void use_the_last_of_three() {
  setenv("WEFT_EMULATION_DEVICES", "3", 1);
  int count = 0;
  end(cudaGetDeviceCount(&count) == cudaSuccess && count == 3 && cudaSetDevice(2) == cudaSuccess &&
      cudaSetDevice(3) == cudaErrorInvalidDevice);
}

[[noreturn]] void use_none() {
  setenv("WEFT_EMULATION_DEVICES", "0", 1);
  int count = 5;
  end(cudaGetDeviceCount(&count) == cudaErrorNoDevice && count == 0 && cudaSetDevice(0) == cudaErrorNoDevice);
}

[[noreturn]] void misspell_a_number() {
  setenv("WEFT_EMULATION_DEVICES", "two", 1);
  int count = 0;
  end(cudaGetDeviceCount(&count) == cudaErrorInvalidValue);
}

struct TwoDevices {
  TwoDevices() {
    setenv("WEFT_EMULATION_DEVICES", "2", 1);
    cudaMalloc(&first, sizeof(int));
    const int value = 7;
    cudaMemcpy(first, &value, sizeof value, cudaMemcpyHostToDevice);
    cudaSetDevice(1);
    cudaMalloc(&second, sizeof(int));
  }
  int *first = nullptr, *second = nullptr;
};

[[noreturn]] void copy_from_one_to_the_other() {
  const TwoDevices both;
  int value = 0;
  cudaMemcpy(both.second, both.first, sizeof value, cudaMemcpyDeviceToDevice);
  cudaMemcpy(&value, both.second, sizeof value, cudaMemcpyDeviceToHost);
  end(value == 7);
}

[[noreturn]] void read_the_other_in_a_kernel() {
  const TwoDevices both;
  const cudaLaunchConfig_t config{};
  cudaLaunchKernelEx(&config, copy, both.second, both.first);
  end(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_F(EnvironmentDeathTest, SaysHowMuchMemoryThereIs) {
  EXPECT_EXIT(use_little_memory(), ::testing::ExitedWithCode(0), "");
}

TEST_F(EnvironmentDeathTest, SaysHowManyDevicesThereAre) {
  EXPECT_EXIT(use_the_last_of_three(), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(use_none(), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(misspell_a_number(), ::testing::ExitedWithCode(0), "");
}

TEST_F(EnvironmentDeathTest, CopiesReachBothDevicesKernelsTheirOwn) {
  EXPECT_EXIT(copy_from_one_to_the_other(), ::testing::ExitedWithCode(0), "");
  EXPECT_DEATH(read_the_other_in_a_kernel(), "device memory was touched");
}

}  // namespace
}  // namespace weft::testing
