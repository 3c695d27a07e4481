// tensor/backend.h: what a device brings: its ops, its memory, its copies. ops.cpp, memory.cpp and context.cpp go
// through it.
//
// The CPU's backend is part of this library. CUDA's is a module of its own, libweft_cuda.so, which is opened when a
// CUDA device is first asked for: so one program runs on machines with and without CUDA's libraries, and the tests can
// put the emulated device (tests/emulation) in its place. WEFT_CUDA_MODULE names another file than the one beside the
// program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tensor/context.h"
#include "tensor/ops.h"

namespace weft {

struct Backend {
#define WEFT_BACKEND_OP(function, Arguments)                   \
  void (*function)(Context&, const ops::Arguments&) = nullptr; \
  void (*measure_##function)(Context&, const ops::Arguments&) = nullptr; /* the dry run: notes scratch memory */
  WEFT_OPS(WEFT_BACKEND_OP)
#undef WEFT_BACKEND_OP

  int64_t (*packed_numel)(DType storage, int64_t k, int64_t n) = nullptr;  // ops::packed_numel
  int64_t (*saved_numel)(Activation activation, DType storage, int64_t rows, int64_t cols) = nullptr;  // and so on

  std::unique_ptr<Context::Runtime> (*make_runtime)(bool dry_run) = nullptr;

  // Of the calling thread's current device.
  void* (*allocate)(size_t bytes) = nullptr;  // zero-filled; nullptr or an Error: there is not so much
  void (*release)(void* data) noexcept = nullptr;
  size_t (*footprint)(size_t bytes) = nullptr;  // what allocate() takes for so many

  int (*num_devices)() = nullptr;
  void (*use_device)(int index) = nullptr;  // of the calling thread
  DeviceProperties (*properties)() = nullptr;
};

// The backend of a device; an Error that says what is missing if this machine or this build has none.
const Backend& backend(Device device);

// What this library cannot do without: the CPU's backend (tensor/cpu/backend.cpp).
namespace cpu {
extern const Backend kBackend;
}

// What a module exports, under this name: const Backend* weft_cuda_backend(int version). nullptr: another version's
// program asks.
inline constexpr int kBackendVersion = 4;
inline constexpr const char* kCudaModule = "libweft_cuda.so";
inline constexpr const char* kCudaEntry = "weft_cuda_backend";
using BackendEntry = const Backend* (*)(int version);

}  // namespace weft
