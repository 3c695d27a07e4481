// tensor/cuda/runtime/device.cpp: selects a GPU, describes it, and checks that the kernels run on it.
#include <cublasLt.h>
#include <unistd.h>

#include "tensor/cuda/runtime/runtime.h"
#include "tensor/error.h"

namespace weft::cuda {
namespace {

int device_in_use() {
  int index = 0;
  check(cudaGetDevice(&index), "cudaGetDevice");
  return index;
}

cudaDeviceProp properties_of(int index) {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, index), "cudaGetDeviceProperties");
  return device;
}

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, index), "cudaDeviceGetAttribute");
  return value;
}

void require_supported(int index) {
  const int major = attribute(cudaDevAttrComputeCapabilityMajor, index);
  if (major >= 8) return;
  fail(ErrorKind::usage, fmt::format("device {} ({}) has compute capability {}.{}, but Weft needs at least 8.0 (A100); "
                                     "use --device=cpu to run without a GPU",
                                     index, std::string(properties_of(index).name), major,
                                     attribute(cudaDevAttrComputeCapabilityMinor, index)));
}

std::string cuda_version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

std::string host_name() {
  char name[256] = "";
  (void)gethostname(name, sizeof(name) - 1);
  return name;
}

// CUDA reports a missing driver like a driver that is too old.
std::string why_no_device(cudaError_t status) {
  int driver = 0, runtime = 0;
  if (status != cudaErrorInsufficientDriver || cudaDriverGetVersion(&driver) != cudaSuccess ||
      cudaRuntimeGetVersion(&runtime) != cudaSuccess) {
    return cudaGetErrorString(status);
  }
  if (driver == 0) return "there is no NVIDIA driver";
  return fmt::format("the NVIDIA driver supports CUDA {}, but this program needs {}", cuda_version(driver),
                     cuda_version(runtime));
}

std::string cublaslt_version(size_t number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

std::string uuid_text(const cudaUUID_t& uuid) {  // in nvidia-smi's format
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    const bool begins_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", begins_group ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

int num_devices() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  return count;
}

const char* advice_for(cudaError_t status) {
  switch (status) {
    case cudaErrorSystemNotReady:
      return "start NVIDIA's fabric manager (systemctl start nvidia-fabricmanager), which connects the GPUs";
    case cudaErrorSystemDriverMismatch:
      return "reload the NVIDIA driver or restart the machine after its update";
    case cudaErrorDevicesUnavailable:
      return "another process uses the GPU alone (nvidia-smi -q -d COMPUTE)";
    case cudaErrorUnsupportedPtxVersion:
      return "install a newer NVIDIA driver, or build Weft with an older nvcc";
    case cudaErrorNoKernelImageForDevice:
      return "this build has no code for the GPU: build Weft on this machine, or set CMAKE_CUDA_ARCHITECTURES";
    default:
      return nullptr;
  }
}

void fail_without_device(cudaError_t status) {
  fail(ErrorKind::usage,
       fmt::format("no CUDA device on {}: {}; use --device=cpu to run on the CPU", host_name(), why_no_device(status)));
}

void use_device(int index) {
  const int count = num_devices();
  if (index < 0 || index >= count) {
    fail(ErrorKind::usage, fmt::format("there is no CUDA device {}: devices are numbered from 0, and this "
                                       "process sees {} (check CUDA_VISIBLE_DEVICES)",
                                       index, count));
  }
  require_supported(index);
  check(cudaSetDevice(index), "cudaSetDevice");
}

void require_supported_device() {
  require_supported(device_in_use());
  require_kernels();
  (void)current_device();  // remembers the name for messages
}

// After a persistent error, CUDA may not answer. Then this function returns the last known answer.
std::string current_device() {
  thread_local std::string known = "no device";
  int index = 0;
  cudaDeviceProp device{};
  if (cudaGetDevice(&index) == cudaSuccess && cudaGetDeviceProperties(&device, index) == cudaSuccess)
    known = fmt::format("device {}, {}", index, std::string(device.name));
  return known;
}

DeviceProperties properties() {
  const cudaDeviceProp device = properties_of(device_in_use());
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  DeviceProperties found;
  found.name = device.name;
  found.version = fmt::format("compute {}.{}, driver {}, runtime {}, cuBLASLt {}", device.major, device.minor,
                              cuda_version(driver), cuda_version(runtime), cublaslt_version(cublasLtGetVersion()));
  found.unique_id = uuid_text(device.uuid);
  found.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", device.pciDomainID, device.pciBusID, device.pciDeviceID);
  check(cudaMemGetInfo(&found.free_memory, &found.total_memory), "cudaMemGetInfo");
  return found;
}

}  // namespace weft::cuda
