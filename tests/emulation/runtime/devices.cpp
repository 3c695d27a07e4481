// tests/emulation/runtime/devices.cpp: the devices, their properties, and the current one of each thread.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/emulation/machine/limits.h"
#include "tests/emulation/machine/machine.h"
#include "tests/emulation/runtime/capture.h"

using namespace weft::emulation;

namespace {

thread_local int device_in_use = 0;

int attribute_of(cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return kMaxThreads;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return kSharedBytes;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return gpu_limits().max_shared_bytes;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return gpu_limits().max_shared_bytes + 1024;
    case cudaDevAttrWarpSize:
      return kWarpSize;
    case cudaDevAttrMultiProcessorCount:
      return kMultiprocessors;
    case cudaDevAttrComputeCapabilityMajor:
      return gpu_limits().major;
    case cudaDevAttrComputeCapabilityMinor:
      return gpu_limits().minor;
  }
  fail(cudaErrorInvalidValue, "an attribute that the emulated device does not know");
}

// WEFT_EMULATION_ERROR=CODE: an error that every call finds, such as 802 (SystemNotReady); with 209 and 222, which
// concern code, only looking for a kernel does.
void require_sound_machine(bool has_kernels) {
  const char* const setting = std::getenv("WEFT_EMULATION_ERROR");
  if (setting == nullptr) return;
  const auto error = static_cast<cudaError_t>(std::atoi(setting));
  const bool of_code = error == cudaErrorNoKernelImageForDevice || error == cudaErrorUnsupportedPtxVersion;
  if (has_kernels || !of_code) fail(error, "as the environment wants");
}

}  // namespace

int weft::emulation::current_device() { return device_in_use; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  return call([&] {
    require_sound_machine(/*has_kernels=*/false);
    *count = machine().num_devices();
    if (*count == 0) machine().device(0);
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  return call([&] {
    require_sound_machine(/*has_kernels=*/true);
    const int version = 10 * gpu_limits().major + gpu_limits().minor;
    *attributes = {.binaryVersion = version, .ptxVersion = version};
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call([&] {
    require_sound_machine(/*has_kernels=*/false);
    machine().device(device_in_use);
    *device = device_in_use;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call([&] {
    const auto lock = machine().lock();
    machine().sound_device(device);
    device_in_use = device;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call([&] {
    const size_t bytes = machine().device(device).memory.total();
    *properties = {};
    const char* const name = std::getenv("WEFT_EMULATION_NAME");
    std::snprintf(properties->name, sizeof properties->name, "%s", name == nullptr ? "Emulated device" : name);
    std::snprintf(properties->uuid.bytes, sizeof properties->uuid.bytes, "emulated %d", device);
    properties->totalGlobalMem = bytes;
    properties->sharedMemPerBlock = kSharedBytes;
    const GpuLimits limits = gpu_limits();
    properties->sharedMemPerBlockOptin = static_cast<size_t>(limits.max_shared_bytes);
    properties->sharedMemPerMultiprocessor = static_cast<size_t>(limits.max_shared_bytes + 1024);
    properties->warpSize = kWarpSize;
    properties->maxThreadsPerBlock = kMaxThreads;
    properties->major = limits.major;
    properties->minor = limits.minor;
    properties->multiProcessorCount = kMultiprocessors;
    properties->pciBusID = device + 1;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call([&] {
    machine().device(device);
    *value = attribute_of(attribute);
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return call([&] {
    machine().device(device);
    std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", device + 1);
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0, *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaDeviceReset() {
  return call([&] {
    auto lock = machine().lock();
    require_no_capture("cudaDeviceReset");
    Device& device = machine().device(device_in_use);
    machine().drop_work(lock, device_in_use);
    device.memory.release_all();
    device.fault.clear();
  });
}
