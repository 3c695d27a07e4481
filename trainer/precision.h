// trainer/precision.h: storage type of activations and GEMM operands: resolves `train.precision = auto`,
// for new and resumed runs.
//
// Decided once, before any allocation, and the same on every rank. A resumed run keeps its precision, also on
// another machine, unless the option names another one; every change is reported in a line.
#pragma once

#include <string>

#include "parallel/communicator.h"
#include "tensor/context.h"
#include "trainer/config/run_config.h"

namespace weft {

DType storage_of(Precision precision);               // of a decided precision, not auto
Precision precision_named(const std::string& name);  // "f32", "bf16" or "f16", as in state.json

struct PrecisionChoice {
  Precision precision = Precision::f32;
  std::string remark;  // a line for the user, or empty
};

struct HalfInstructions {  // matrix instructions that every rank's device has; otherwise operands are widened to f32
  bool bf16 = false, f16 = false;
};
HalfInstructions half_instructions(Device device, Communicator& world);  // all ranks call it

// `before`: the precision of the run that is resumed; empty for a new run.
PrecisionChoice choose_precision(Precision wanted, HalfInstructions instructions, const std::string& before);

bool on_every_rank(Communicator& world, bool here);  // all ranks call it

}  // namespace weft
