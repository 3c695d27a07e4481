// tests/emulation/machine/launch.cpp: a launch is checked immediately, as in CUDA, and executed later.
#include <cstring>
#include <map>
#include <memory>

#include "tests/emulation/machine/executor.h"
#include "tests/emulation/machine/limits.h"
#include "tests/emulation/machine/machine.h"

namespace weft::emulation {
namespace {

// Raised limits of dynamic shared memory by kernel; requires the machine's lock.
std::map<const void*, size_t>& allowed_shared_bytes() {
  static auto* const all = new std::map<const void*, size_t>;
  return *all;
}

std::string text_of(const dim3& d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
}

void require_limits(const cudaLaunchConfig_t& config, const void* kernel) {
  const dim3 &grid = config.gridDim, &block = config.blockDim;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMaxThreads || block.z > kMaxBlockZ)
    fail(cudaErrorInvalidConfiguration, "a block of " + text_of(block) + " threads");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > kMaxGridX || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ)
    fail(cudaErrorInvalidConfiguration, "a grid of " + text_of(grid) + " blocks");
  const auto found = allowed_shared_bytes().find(kernel);
  const size_t allowed = found == allowed_shared_bytes().end() ? kSharedBytes : found->second;
  if (config.dynamicSmemBytes > allowed)
    fail(cudaErrorInvalidValue, std::to_string(config.dynamicSmemBytes) + " bytes of dynamic shared memory, " +
                                    std::to_string(allowed) + " are allowed");
}

// Refuses pointers to host memory, with which a kernel on a GPU would fault.
void require_device_pointers(std::span<const std::span<const std::byte>> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i)
    for (size_t at = 0; at + sizeof(uint64_t) <= arguments[i].size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, arguments[i].data() + at, sizeof word);
      const void* const address = reinterpret_cast<const void*>(word);
      if (is_host_address(word) && machine().device_of(address) < 0 && !is_pinned_memory(address, 1))
        fail(cudaErrorInvalidValue, "argument " + std::to_string(i) + " of the kernel holds an address of host memory");
    }
}

}  // namespace

cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, SharedMemory (*shared)(),
                   std::function<void()> thread, std::span<const std::span<const std::byte>> arguments) {
  return call([&] {
    const auto lock = machine().lock();
    const auto queue = queue_of(config.stream);
    machine().sound_device(queue->device);
    if (queue->device != current_device())
      fail(cudaErrorInvalidResourceHandle, "a launch on a stream of a device that is not the current one");
    require_limits(config, kernel);
    require_device_pointers(arguments);
    const auto work = std::make_shared<const Kernel>(
        Kernel{kernel, std::move(thread), config.gridDim, config.blockDim, config.dynamicSmemBytes, shared});
    Device& device = machine().device(queue->device);
    const bool faulty = device.num_launches++ == device.faulty_launch;
    machine().push(queue, {.run =
                               [work, faulty, device = queue->device](Access& access) {
                                 if (faulty) fail(cudaErrorIllegalAddress, "the kernel faults, as the test wanted");
                                 access.open(device);
                                 Executor::of_this_thread().run(*work, machine().draw());
                                 return Progress::finished;
                               },
                           .counted = {.kernel = kernel}});
  });
}

}  // namespace weft::emulation

using namespace weft::emulation;

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return call([&] {
    const auto lock = machine().lock();
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) fail(cudaErrorInvalidValue, "an unknown attribute");
    if (value < 0 || value > kMaxSharedBytes)
      fail(cudaErrorInvalidValue, std::to_string(value) + " bytes of dynamic shared memory, the device has " +
                                      std::to_string(kMaxSharedBytes));
    allowed_shared_bytes()[kernel] = static_cast<size_t>(value);
  });
}
