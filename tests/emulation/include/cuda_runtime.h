// tests/emulation/include/cuda_runtime.h: replaces CUDA's header of this name, so that a host compiler
// compiles .cu files and the emulated device (tests/emulation) runs them.
#pragma once

#include "cuda_runtime_api.h"
#include "emulated_intrinsics.h"
#include "emulated_launch.h"
