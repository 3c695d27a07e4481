// trainer/bench/step_times.h: measures the wall time of a training step: total, per phase and per part.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/op/op_trace.h"
#include "trainer/config/run_config.h"

namespace weft {

using NamedSeconds = std::vector<std::pair<std::string, double>>;

struct StepTimes {
  double seconds = 0, best_seconds = 0;  // median and best over `steps`
  int64_t steps = 0;
  int64_t source_tokens = 0, target_tokens = 0;  // real tokens of a step, all ranks
  double fill = 0;
  double flops = 0;            // FLOPs of the model, all ranks together
  double looked_at = 0;        // seconds of the traced step below; on a CPU the median step
  NamedSeconds phases, parts;  // on this rank; each list adds up to `looked_at`
};

// Times steps of synthetic blocks after a warm-up step on one block. A GPU works asynchronously, so a further step,
// which waits for each op, yields the parts. REQUIRES: `config` is resolved except for its data.
StepTimes measure_steps(const RunConfig& config, Communicator& world, double seconds, const RankDevice& own = {});

// Returns the part that a call belongs to: "gemm", "attention", ...; "other" if training steps lack this call.
const char* part_of(const char* call);

// Divide the time of `trace`, one step that took `seconds`. Time between calls counts as the part "other", and belongs
// to the next call's phase.
NamedSeconds parts_of(const OpTrace& trace, double seconds);
NamedSeconds phases_of(const OpTrace& trace, double seconds);

}  // namespace weft
