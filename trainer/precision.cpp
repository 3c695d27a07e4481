// trainer/precision.cpp: chooses precisions for new and resumed runs.
#include "trainer/precision.h"

#include "tensor/error.h"

namespace weft {
namespace {

const char* name_of(Precision precision) { return name_of(storage_of(precision)); }

std::string remark_on_change(Precision wanted, Precision by_itself, Precision before) {
  if (wanted == Precision::automatic && by_itself != before)
    return fmt::format(
        "the run continues in {}, as before; on this machine a new run would use {} (to switch, use "
        "--train.precision={})",
        name_of(before), name_of(by_itself), name_of(by_itself));
  if (wanted != Precision::automatic && wanted != before)
    return fmt::format("the run has been trained in {} so far and continues in {}", name_of(before), name_of(wanted));
  return "";
}

// Every processor can train in bf16 and f16, but a processor without such instructions must first convert to f32.
std::string remark_on_speed(Precision precision, HalfInstructions instructions) {
  if (precision == Precision::bf16 && !instructions.bf16)
    return "some processors of this run lack bf16 instructions, so matrix products convert to f32 first: "
           "use --train.precision=f32, which is faster here";
  if (precision == Precision::f16 && !instructions.f16)
    return "CPUs lack f16 instructions, so matrix products convert to f32 first: use bf16 or f32, which is faster here";
  return "";
}

}  // namespace

DType storage_of(Precision precision) {
  require(precision != Precision::automatic, ErrorKind::internal, "train.precision = auto is not resolved yet");
  return precision == Precision::bf16 ? DType::bf16 : precision == Precision::f16 ? DType::f16 : DType::f32;
}

Precision precision_named(const std::string& name) {
  for (const Precision p : {Precision::f32, Precision::bf16, Precision::f16})
    if (name == name_of(p)) return p;
  fail(ErrorKind::checkpoint, fmt::format("state.json: precision = '{}' is not f32, bf16 or f16", name));
}

HalfInstructions half_instructions(Device device, Communicator& world) {
  if (device == Device::cuda) return {.bf16 = true, .f16 = true};  // every GPU that the kernels support has both
  return {.bf16 = on_every_rank(world, has_bf16_instructions())};
}

PrecisionChoice choose_precision(Precision wanted, HalfInstructions instructions, const std::string& before) {
  const Precision by_itself = instructions.bf16 ? Precision::bf16 : Precision::f32;
  PrecisionChoice choice{.precision = wanted == Precision::automatic ? by_itself : wanted};
  if (!before.empty()) {
    const Precision kept = precision_named(before);
    if (wanted == Precision::automatic) choice.precision = kept;
    choice.remark = remark_on_change(wanted, by_itself, kept);
  }
  const std::string slow = remark_on_speed(choice.precision, instructions);
  choice.remark += (choice.remark.empty() || slow.empty() ? "" : "; ") + slow;
  return choice;
}

bool on_every_rank(Communicator& world, bool here) { return world.max(here ? 0 : 1) == 0; }

}  // namespace weft
