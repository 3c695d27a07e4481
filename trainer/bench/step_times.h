// trainer/bench/step_times.h: the trainer's step by the clock: whole, by phase and by part.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/op_trace.h"
#include "trainer/run_config.h"

namespace weft {

using NamedSeconds = std::vector<std::pair<std::string, double>>;

struct StepTimes {
  double seconds = 0, best_seconds = 0;  // median and best of `steps`
  int64_t steps = 0;
  int64_t source_tokens = 0, target_tokens = 0;  // real ones of a step, all ranks
  double fill = 0;
  double flops = 0;            // of the model, all ranks together
  double looked_at = 0;        // seconds of the step whose phases and parts follow: on a CPU the median one
  NamedSeconds phases, parts;  // on this rank; each sums up to `looked_at`
};

// A step of synthetic blocks; `config` is resolved but for its data. One on a single block warms up. A GPU works beside
// the program, so a further step, each op of which is waited for, tells its parts.
StepTimes measure_steps(const RunConfig& config, Communicator& world, double seconds, const RankDevice& own = {});

// What a call belongs to: "gemm", "attention", ...; "other" if it is none of a training step's.
const char* part_of(const char* call);

// `trace` of one step that took `seconds`. What lies between calls is the part "other", and the phase of the next call.
NamedSeconds parts_of(const OpTrace& trace, double seconds);
NamedSeconds phases_of(const OpTrace& trace, double seconds);

}  // namespace weft
