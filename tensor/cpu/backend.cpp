// tensor/cpu/backend.cpp: defines the CPU backend's function table.
#include "tensor/backend.h"

#include <cstdlib>
#include <cstring>

#include "tensor/cpu/host_memory.h"
#include "tensor/cpu/runtime.h"

namespace weft::cpu {

#define WEFT_CPU_OP(function, Arguments, ...) .function = function, .measure_##function = measure,

const Backend kBackend{WEFT_OPS(WEFT_CPU_OP).packed_numel = packed_numel,
                       .inference_numel = inference_numel,
                       .saved_numel = saved_numel,
                       .make_runtime = make_runtime,
                       .allocate = allocate,
                       .release = release,
                       .footprint = footprint,
                       .num_devices = [] { return 1; },
                       .use_device = [](int) {},
                       .properties = []() -> DeviceProperties { return {.name = cpu_description()}; }};

}  // namespace weft::cpu
