// tensor/backend.cpp: returns the backend of a device, and opens the CUDA module on first use.
#include "tensor/backend.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "tensor/error.h"

namespace weft {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& reason) {
  fail(ErrorKind::usage,
       fmt::format("the CUDA backend {} cannot be used: {}; use --device=cpu to run without it", file, reason));
}

const Backend* open_cuda() {
  const char* variable = std::getenv("WEFT_CUDA_MODULE");
  const bool chosen = variable != nullptr && *variable != '\0';
  const std::string file = chosen ? variable : kCudaModule;
  // The module's libraries take 150 MB of each rank's memory, and find no GPU without a driver.
  if (!chosen && dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr)
    refuse(file, fmt::format("there is no NVIDIA driver ({})", dlerror()));
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) refuse(file, dlerror());
  const auto entry = reinterpret_cast<BackendEntry>(dlsym(module, kCudaEntry));
  if (entry == nullptr) refuse(file, "it is not a Weft backend");
  const Backend* backend = entry(kBackendVersion);
  if (backend == nullptr) refuse(file, "it belongs to a different version of Weft");
  if (chosen) std::fputs(fmt::format("the CUDA module is {} (WEFT_CUDA_MODULE)\n", file).c_str(), stderr);
  return backend;
}

}  // namespace

const Backend& backend(Device device) {
  if (device == Device::cpu) return cpu::kBackend;
  static const Backend* const cuda = open_cuda();  // if open_cuda throws, the next call tries again
  return *cuda;
}

}  // namespace weft
