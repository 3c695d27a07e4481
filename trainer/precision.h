// trainer/precision.h: chooses the storage type of activations and GEMM operands (train.precision = auto).
//
// The choice is made once, before any allocation, and is the same on every rank. A resumed run keeps its precision,
// even on a different machine, unless the option names a different precision. Every change is reported in one line.
#pragma once

#include <string>

#include "parallel/communicator.h"
#include "tensor/context.h"
#include "trainer/config/run_config.h"

namespace weft {

// Precisions of commands that use a trained model. int8: weights and the activations that GEMMs read are rounded to
// int8, and everything else is f32 (tensor/op/quantize.h).
enum class InferencePrecision : uint8_t { automatic, f32, bf16, f16, int8 };
constexpr EnumNames<InferencePrecision, 5> enum_names(InferencePrecision) {
  return {{{"auto", InferencePrecision::automatic},
           {"f32", InferencePrecision::f32},
           {"bf16", InferencePrecision::bf16},
           {"f16", InferencePrecision::f16},
           {"int8", InferencePrecision::int8}}};
}

DType storage_of(Precision precision);               // REQUIRES: `precision` is not automatic
Precision precision_named(const std::string& name);  // parses "f32", "bf16" or "f16", as in state.json

struct PrecisionChoice {
  Precision precision = Precision::f32;
  std::string remark;  // a line for the user, or empty
};

struct HalfInstructions {  // true if every rank's device has matrix instructions; if not, operands become f32
  bool bf16 = false, f16 = false;
};
HalfInstructions half_instructions(Device device, Communicator& world);  // all ranks call it

// `before` is the precision of a resumed run, or empty for a new run.
PrecisionChoice choose_precision(Precision wanted, HalfInstructions instructions, const std::string& before);

bool on_every_rank(Communicator& world, bool here);  // true if `here` is true on every rank; all ranks call it

}  // namespace weft
