// tensor/backend.h: the interface of a device: its ops, memory and copies. ops.cpp, memory.cpp and context.cpp call it.
//
// The CPU backend is part of this library. The CUDA backend is a module, libweft_cuda.so, which is opened when a CUDA
// device is first used. So one program runs on machines with and without CUDA's libraries, and tests can load the
// emulated device (tests/emulation) instead. WEFT_CUDA_MODULE names a module other than the one next to the program.
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
  void (*measure_##function)(Context&, const ops::Arguments&) = nullptr; /* the dry run: records scratch memory */
  WEFT_OPS(WEFT_BACKEND_OP)
#undef WEFT_BACKEND_OP

  int64_t (*packed_numel)(DType storage, int64_t k, int64_t n) = nullptr;  // see ops::packed_numel
  int64_t (*inference_numel)(DType storage, int64_t k, int64_t n) = nullptr;
  int64_t (*saved_numel)(Activation activation, DType storage, int64_t rows, int64_t cols) = nullptr;

  std::unique_ptr<Context::Runtime> (*make_runtime)(bool dry_run) = nullptr;

  // These act on the calling thread's current device.
  void* (*allocate)(size_t bytes) = nullptr;  // zero-filled; returns nullptr or throws if out of memory
  void (*release)(void* data) noexcept = nullptr;
  size_t (*footprint)(size_t bytes) = nullptr;  // bytes that allocate() takes for `bytes`

  int (*num_devices)() = nullptr;
  void (*use_device)(int index) = nullptr;  // for the calling thread
  DeviceProperties (*properties)() = nullptr;
};

// Returns the backend of a device. Throws an Error that names what is missing if this machine or build has none.
const Backend& backend(Device device);

// The CPU backend (tensor/cpu/backend.cpp), which this library always links.
namespace cpu {
extern const Backend kBackend;
}

// A module exports this symbol: const Backend* weft_cuda_backend(int version). It returns nullptr if its own version is
// different. The size of the table tells which ops it contains. Increase the first number manually when the meaning of
// a field changes.
inline constexpr int kBackendVersion = (4 << 16) + static_cast<int>(sizeof(Backend));
inline constexpr const char* kCudaModule = "libweft_cuda.so";
inline constexpr const char* kCudaEntry = "weft_cuda_backend";
using BackendEntry = const Backend* (*)(int version);

}  // namespace weft
