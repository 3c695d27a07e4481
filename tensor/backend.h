// tensor/backend.h: defines the interface to a device. ops.cpp, memory.cpp and context.cpp call the functions in it.
//
// The CPU backend is part of this library. The CUDA backend is a shared library, libweft_cuda.so, which is loaded when
// a CUDA device is first used. Therefore one program runs with and without CUDA's libraries, and tests can load the
// emulated device (tests/emulation). The environment variable WEFT_CUDA_MODULE selects a different library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tensor/context.h"
#include "tensor/ops.h"

namespace weft {

struct Backend {
#define WEFT_BACKEND_OP(function, Arguments, ...)              \
  void (*function)(Context&, const ops::Arguments&) = nullptr; \
  void (*measure_##function)(Context&, const ops::Arguments&) = nullptr; /* for a dry run: measures scratch memory */
  WEFT_OPS(WEFT_BACKEND_OP)
#undef WEFT_BACKEND_OP

  int64_t (*packed_numel)(DType storage, int64_t k, int64_t n) = nullptr;  // see ops::packed_numel
  int64_t (*inference_numel)(DType storage, int64_t k, int64_t n) = nullptr;
  int64_t (*saved_numel)(Activation activation, DType storage, int64_t rows, int64_t cols) = nullptr;

  std::unique_ptr<Context::Runtime> (*make_runtime)(bool dry_run) = nullptr;

  // These act on the calling thread's current device.
  void* (*allocate)(size_t bytes) = nullptr;  // zero-filled; returns nullptr or throws if out of memory
  void (*release)(void* data) noexcept = nullptr;
  size_t (*footprint)(size_t bytes) = nullptr;  // bytes that allocate(bytes) takes, rounded up

  int (*num_devices)() = nullptr;
  void (*use_device)(int index) = nullptr;  // for the calling thread
  DeviceProperties (*properties)() = nullptr;
};

// Returns the backend of a device. If this machine or build lacks it, throws an Error that names what is missing.
const Backend& backend(Device device);

// The CPU backend (tensor/cpu/backend.cpp) is always linked into this library.
namespace cpu {
extern const Backend kBackend;
}

// A module exports the function const Backend* weft_cuda_backend(int version), which returns nullptr if the module has
// a different version. The version contains the size of Backend, because that size depends on the list of ops. When the
// meaning of a field changes, increase the number before `<< 16` manually.
inline constexpr int kBackendVersion = (4 << 16) + static_cast<int>(sizeof(Backend));
inline constexpr const char* kCudaModule = "libweft_cuda.so";
inline constexpr const char* kCudaEntry = "weft_cuda_backend";
using BackendEntry = const Backend* (*)(int version);

}  // namespace weft
