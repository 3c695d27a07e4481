// tests/emulation/runtime/allocations.cpp: cudaMalloc, cudaFree and the like.
#include "tests/emulation/machine/machine.h"
#include "tests/emulation/runtime/capture.h"

using namespace weft::emulation;

cudaError_t cudaMalloc(void** data, size_t bytes) {
  return call([&] {
    const auto lock = machine().lock();
    require_no_capture("cudaMalloc");
    DeviceMemory& memory = machine().sound_device(current_device()).memory;
    *data = bytes == 0 ? nullptr : memory.allocate(bytes);
    if (bytes > 0 && *data == nullptr)
      fail(cudaErrorMemoryAllocation, std::to_string(bytes) + " bytes, " + std::to_string(memory.used()) + " of " +
                                          std::to_string(memory.total()) + " in use");
  });
}

cudaError_t cudaFree(void* data) {  // waits for the device, as in CUDA
  return call([&] {
    auto lock = machine().lock();
    require_no_capture("cudaFree");
    machine().device(current_device());
    if (data == nullptr) return;
    const int device = machine().device_of(data);
    if (device >= 0)
      for (const Point& end : machine().ends(device)) machine().wait(lock, [&] { return end.reached(); });
    if (device < 0 || !machine().device(device).memory.release(data))
      fail(cudaErrorInvalidValue, "cudaFree of what cudaMalloc did not give, or was freed before");
    machine().sound_device(device);
  });
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned flags) {
  return call([&] {
    const auto lock = machine().lock();
    require_no_capture("cudaHostAlloc");
    machine().sound_device(current_device());
    if ((flags & ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) != 0)
      fail(cudaErrorInvalidValue, "flags of cudaHostAlloc");
    *data = bytes == 0 ? nullptr : machine().pinned().allocate(bytes);
    if (bytes > 0 && *data == nullptr)
      fail(cudaErrorMemoryAllocation, std::to_string(bytes) + " bytes of pinned memory");
  });
}
cudaError_t cudaMallocHost(void** data, size_t bytes) { return cudaHostAlloc(data, bytes, cudaHostAllocDefault); }

cudaError_t cudaFreeHost(void* data) {
  return call([&] {
    auto lock = machine().lock();
    require_no_capture("cudaFreeHost");
    if (data == nullptr) return;
    machine().settle(lock);
    if (!machine().pinned().release(data))
      fail(cudaErrorInvalidValue, "cudaFreeHost of what cudaHostAlloc did not give, or was freed before");
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call([&] {
    const auto lock = machine().lock();
    const DeviceMemory& memory = machine().sound_device(current_device()).memory;
    *total = memory.total();
    *free = memory.total() - memory.used();
  });
}
