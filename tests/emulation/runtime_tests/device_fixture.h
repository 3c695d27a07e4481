// tests/emulation/runtime_tests/device_fixture.h: a fresh device for each test, with helpers.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/emulation/runtime/device.h"

namespace weft::testing {

#define EXPECT_CUDA(call) EXPECT_EQ(cudaSuccess, call) << cudaGetErrorString(cudaPeekAtLastError())

inline __global__ void set(int* data, int value) { *data = value; }
inline __global__ void copy(int* to, const int* from) { *to = *from; }
inline __global__ void append(int* data, int digit) { *data = *data * 10 + digit; }

constexpr uint64_t kSeeds = 20;  // shuffled orders to try

class DeviceTest : public ::testing::Test {
 protected:
  DeviceTest() { emulation::set_seed(1); }
  ~DeviceTest() override {
    cudaDeviceReset();
    cudaGetLastError();
  }
  DeviceTest(const DeviceTest&) = delete;
  DeviceTest& operator=(const DeviceTest&) = delete;

  template <typename T>
  static T* fresh(size_t count) {
    T* data = nullptr;
    EXPECT_CUDA(cudaMalloc(&data, count * sizeof(T)));
    return data;
  }
  template <typename T>
  static T* on_device(const std::vector<T>& values) {
    T* const data = fresh<T>(values.size());
    EXPECT_CUDA(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return data;
  }
  template <typename T>
  static std::vector<T> on_host(const T* data, size_t count) {
    std::vector<T> values(count);
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

  static cudaStream_t new_stream() {
    cudaStream_t stream = nullptr;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
  }

  template <typename... Parameters, typename... Arguments>
  static cudaError_t launch(cudaStream_t stream, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                            size_t shared_bytes, Arguments... arguments) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
  }

  // The error text of a launch or its synchronisation; empty if there is none.
  template <typename... Parameters, typename... Arguments>
  static std::string fault_of(void (*kernel)(Parameters...), dim3 block, Arguments... arguments) {
    EXPECT_CUDA(launch(nullptr, kernel, 1, block, 0, arguments...));
    const cudaError_t status = cudaDeviceSynchronize();
    return status == cudaSuccess ? "" : cudaGetErrorString(status);
  }
};

}  // namespace weft::testing
