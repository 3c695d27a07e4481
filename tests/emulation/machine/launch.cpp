// tests/emulation/machine/launch.cpp: a launch is checked immediately, as in CUDA, and executed later.
#include <cstring>
#include <map>
#include <memory>

#include "tests/emulation/machine/executor.h"
#include "tests/emulation/machine/limits.h"
#include "tests/emulation/machine/machine.h"
#include "tests/emulation/ptx/library.h"
#include "tests/emulation/runtime/kernel_names.h"

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

using Body = std::function<void(uint64_t seed)>;

std::span<const std::byte> allocation_around(uint64_t address) {
  const void* const data = reinterpret_cast<const void*>(address);
  const int device = machine().device_of(data);
  return device < 0 ? machine().pinned().around(data) : machine().device(device).memory.around(data);
}

Body body_of_ptx(const cudaLaunchConfig_t& config, const void* kernel,
                 std::span<const std::span<const std::byte>> arguments) {
  static const ptx::Allocations kAllocations = allocation_around;
  std::vector<std::vector<std::byte>> bytes;
  for (const std::span<const std::byte> argument : arguments) bytes.emplace_back(argument.begin(), argument.end());
  const dim3 &grid = config.gridDim, &block = config.blockDim;
  ptx::Launch launch{.grid = {grid.x, grid.y, grid.z},
                     .block = {block.x, block.y, block.z},
                     .dynamic_shared_bytes = config.dynamicSmemBytes,
                     .allocations = &kAllocations};
  return [launch, bytes = std::move(bytes), name = kernel_name(kernel)](uint64_t seed) mutable {
    launch.arguments = bytes, launch.seed = seed;
    try {
      ptx::Library::chosen()->run(name, launch);
    } catch (const ptx::Error& error) {
      fail(cudaErrorLaunchFailure, error.what());
    }
  };
}

// A kernel runs as PTX, if there is a library of it, or else as the host's compiler has compiled it.
Body body_of(Kernel kernel, const cudaLaunchConfig_t& config, std::span<const std::span<const std::byte>> arguments) {
  if (ptx::Library::chosen() != nullptr) return body_of_ptx(config, kernel.address, arguments);
  return [kernel = std::move(kernel)](uint64_t seed) { Executor::of_this_thread().run(kernel, seed); };
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
    const auto body = std::make_shared<Body>(
        body_of({kernel, std::move(thread), config.gridDim, config.blockDim, config.dynamicSmemBytes, shared}, config,
                arguments));
    Device& device = machine().device(queue->device);
    const bool faulty = device.num_launches++ == device.faulty_launch;
    machine().push(queue, {.run =
                               [body, faulty, device = queue->device](Access& access) {
                                 if (faulty) fail(cudaErrorIllegalAddress, "the kernel faults, as the test wanted");
                                 access.open(device);
                                 (*body)(machine().draw());
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
    const int most = gpu_limits().max_shared_bytes;
    if (value < 0 || value > most)
      fail(cudaErrorInvalidValue,
           std::to_string(value) + " bytes of dynamic shared memory, the device has " + std::to_string(most));
    allowed_shared_bytes()[kernel] = static_cast<size_t>(value);
  });
}
