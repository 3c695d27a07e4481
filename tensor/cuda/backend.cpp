// tensor/cuda/backend.cpp: defines the CUDA backend's function table and the module's entry point.
#include "tensor/backend.h"

#include "tensor/cuda/runtime/runtime.h"

namespace weft::cuda {
namespace {

#define WEFT_CUDA_OP(function, Arguments, ...) .function = function, .measure_##function = measure,

const Backend kBackend{WEFT_OPS(WEFT_CUDA_OP).packed_numel = [](DType, int64_t, int64_t) -> int64_t { return 0; },
                       .inference_numel = [](DType, int64_t, int64_t) -> int64_t { return 0; },
                       .saved_numel = saved_numel,
                       .make_runtime = make_runtime,
                       .allocate = allocate,
                       .release = release,
                       .footprint = footprint,
                       .num_devices = num_devices,
                       .use_device = use_device,
                       .properties = properties};

}  // namespace
}  // namespace weft::cuda

extern "C" __attribute__((visibility("default"))) const weft::Backend* weft_cuda_backend(int version) {
  return version == weft::kBackendVersion ? &weft::cuda::kBackend : nullptr;
}
