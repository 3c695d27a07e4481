// tests/emulation/include/emulated_launch.h: kernel launches on the emulated device, and the runtime's typed
// functions.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_runtime_api.h"

namespace weft::emulation {

// Shared memory of a module's kernels on the calling host thread: [begin, dynamic) holds the __shared__
// arrays, followed by the dynamic part. Each module links its own (shared_memory_end.cpp).
struct SharedMemory {
  std::byte *begin, *dynamic;
  size_t dynamic_capacity;
};
__attribute__((visibility("hidden"))) SharedMemory shared_memory();

// `thread` is the kernel with its arguments; the bytes of each argument are searched for host addresses.
cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, SharedMemory (*shared)(),
                   std::function<void()> thread, std::span<const std::span<const std::byte>> arguments);

}  // namespace weft::emulation

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  static_assert(((std::is_trivially_copyable_v<Parameters> && !std::is_reference_v<Parameters>)&&...),
                "a kernel's arguments are copied to the device byte by byte");
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  std::apply([](auto&... value) { (__builtin_clear_padding(&value), ...); }, values);  // it may hold addresses
  const auto bytes = std::apply(
      [](const auto&... value) {
        return std::array<std::span<const std::byte>, sizeof...(value)>{std::as_bytes(std::span(&value, 1))...};
      },
      values);
  return weft::emulation::launch(
      *config, reinterpret_cast<const void*>(kernel), weft::emulation::shared_memory,
      [kernel, values] { std::apply(kernel, values); }, bytes);
}

template <typename Result, typename... Parameters>
cudaError_t cudaFuncSetAttribute(Result (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

template <typename T>
cudaError_t cudaMalloc(T** data, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(data), bytes);
}
template <typename T>
cudaError_t cudaMallocHost(T** data, size_t bytes) {
  return cudaMallocHost(reinterpret_cast<void**>(data), bytes);
}
template <typename T>
cudaError_t cudaHostAlloc(T** data, size_t bytes, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(data), bytes, flags);
}
