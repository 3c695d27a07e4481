// trainer/plan/precision.h: what a run stores activations and the operands of products as: what `train.precision =
// auto` becomes, and what a run keeps when it goes on.
//
// Decided once, before anything is allocated, and the same on every rank. A run that goes on keeps what it was trained
// in so far, also on another machine, unless the option names something else; every change is said in a line.
#pragma once

#include <string>

#include "parallel/communicator.h"
#include "tensor/context.h"
#include "trainer/run_config.h"

namespace weft {

DType storage_of(Precision precision);               // of a decided precision, not auto
Precision precision_named(const std::string& name);  // "f32", "bf16" or "f16", as state.json has it

struct PrecisionChoice {
  Precision precision = Precision::f32;
  std::string remark;  // a line for the user, or empty
};

struct HalfInstructions {  // of every rank's device, for products; without them operands are widened to f32
  bool bf16 = false, f16 = false;
};
HalfInstructions half_instructions(Device device, Communicator& world);  // all ranks call it

// `before`: what the run that goes on was trained in so far; empty for a new run.
PrecisionChoice choose_precision(Precision wanted, HalfInstructions instructions, const std::string& before);

bool on_every_rank(Communicator& world, bool here);  // all ranks call it

}  // namespace weft
