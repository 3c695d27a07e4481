// trainer/cluster/grid_step.h: predicts the step, memory and traffic of a rank of a dp x tp grid.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/cluster/machine.h"
#include "trainer/config/run_config.h"

namespace weft {

// The exchange of gradients over dp: parallel.zero and parallel.gradient_type. Training uses 16 bits only with a
// sharded optimizer; predictions allow them without one as well.
struct GradientExchange {
  bool sharded = false;  // reduce-scatter, an optimizer for a share of the parameters, all-gather of rounded weights
  DType wire = DType::f32;
  bool operator==(const GradientExchange&) const = default;
};
GradientExchange exchange_of(const ParallelConfig& parallel);

struct Traffic {               // per rank and step
  int64_t dp_collectives = 0;  // for gradients and, if the optimizer is sharded, weights, or for Muon's updates
  int64_t tp_sums = 0;         // sums and gathers of tensor parallelism
  double gradient_bytes = 0;   // bytes of the tensors in the type that is sent
  double weight_bytes = 0;     // bytes of gathered weights, or of Muon's updates
  double tp_bytes = 0;
  double sent_bytes = 0;       // bytes that a ring sends over dp
  double exchanged_bytes = 0;  // bytes of numbers between the hosts' processes
  bool operator==(const Traffic&) const = default;
};

struct StepSeconds {                  // for the rank with the most blocks, which the others wait for
  double compute = 0;                 // passes of all blocks
  double tp = 0;                      // sums of tensor parallelism
  double exposed = 0;                 // exchange of gradients that computation does not hide
  double slowed = 0;                  // slowdown of computation during the exchange
  double optimizer = 0;               // zeroing, norm, update
  double host = 0;                    // exchange of totals between the hosts
  double spread = 0;                  // waits for the slowest rank
  double planner = 0;                 // planning and reading, in parallel with the rest
  double saves = 0, validations = 0;  // shares per step
  double device() const { return compute + tp + exposed + slowed + optimizer + host + spread; }
  double step() const { return device() > planner ? device() : planner; }
  double total() const { return step() + saves + validations; }
};

struct GridStep {
  RunConfig config;  // resolved for the grid
  GradientExchange exchange;
  int64_t blocks_of_rank = 0;                    // maximum over dp ranks
  int64_t source_tokens = 0, target_tokens = 0;  // real tokens of a step, all ranks
  StepSeconds seconds;
  double exchange_seconds = 0;  // total for gradients and weights, hidden or not
  Traffic traffic;
  size_t memory = 0;       // bytes per rank: of its GPU, or of tensors on a CPU
  int64_t parameters = 0;  // parameters of the whole model
  bool fits(const Machine& machine) const;
  double tokens_per_second() const { return static_cast<double>(target_tokens) / seconds.total(); }
};

inline constexpr int64_t kPlannedVocabulary = 32768;  // default vocabulary size

// Fills in what data would determine for this grid. Throws an Error of kind usage as training does.
RunConfig resolve_grid_config(RunConfig config, const Machine& machine, int64_t dp, int64_t tp,
                              const GradientExchange& exchange);

// Predicts a step. `valid_sentences` is the size of the validation set, if the run has one. REQUIRES: `config` comes
// from resolve_grid_config for the same exchange.
GridStep predict_grid(const Machine& machine, const RunConfig& config, const GradientExchange& exchange,
                      int64_t valid_sentences);

}  // namespace weft
