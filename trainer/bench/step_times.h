// trainer/bench/step_times.h: measures the wall time of a training step in total, per phase and per part.
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
  int64_t source_tokens = 0, target_tokens = 0;  // real tokens of a step, summed over all ranks
  double fill = 0;
  double flops = 0;            // FLOPs of the model, summed over all ranks
  double looked_at = 0;        // seconds of the traced step; on a CPU this is the median step
  NamedSeconds phases, parts;  // for this rank; each list adds up to `looked_at`
};

// Times steps on synthetic blocks after a warm-up step on one block. GPUs work asynchronously, so `parts` and `phases`
// come from an extra step that waits for each op. REQUIRES: `config` is resolved except for its data.
StepTimes measure_steps(const RunConfig& config, Communicator& world, double seconds, const RankDevice& own = {});

// Returns the part to which a call belongs, such as "gemm", or "other" if training steps do not contain such calls.
const char* part_of(const char* call);

// Divide the `seconds` of a step, whose calls are in `trace`, into parts or phases. The time between calls counts as
// the part "other" and belongs to the phase of the next call.
NamedSeconds parts_of(const OpTrace& trace, double seconds);
NamedSeconds phases_of(const OpTrace& trace, double seconds);

}  // namespace weft
