// trainer/cluster/grid_step.h: the predicted step, memory and traffic of a rank of a dp x tp grid.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/cluster/machine.h"
#include "trainer/config/run_config.h"

namespace weft {

// How gradients are exchanged over dp: parallel.zero and parallel.gradient_type. Training has 16 bits only with a
// sharded optimizer; here they are also possible without.
struct GradientExchange {
  bool sharded = false;  // reduce-scatter, an optimizer for a share of the parameters, all-gather of rounded weights
  DType wire = DType::f32;
  bool operator==(const GradientExchange&) const = default;
};
GradientExchange exchange_of(const ParallelConfig& parallel);

struct Traffic {               // of a rank, in a step
  int64_t dp_collectives = 0;  // of gradients and, with a sharded optimizer, of weights, or of Muon's updates
  int64_t tp_sums = 0;         // sums and gathers of tensor parallelism
  double gradient_bytes = 0;   // of their tensors, in the type that is sent
  double weight_bytes = 0;     // of gathered weights, or of Muon's updates
  double tp_bytes = 0;
  double sent_bytes = 0;       // over dp: what a ring sends
  double exchanged_bytes = 0;  // of numbers between the hosts' processes
  bool operator==(const Traffic&) const = default;
};

struct StepSeconds {                  // of the rank with most blocks, which the others wait for
  double compute = 0;                 // passes of all blocks
  double tp = 0;                      // sums of tensor parallelism
  double exposed = 0;                 // exchange of gradients that nothing hides
  double slowed = 0;                  // computation beside the exchange is slower
  double optimizer = 0;               // zeroing, norm, update
  double host = 0;                    // exchange of totals between the hosts
  double spread = 0;                  // waits for the slowest rank
  double planner = 0;                 // planning and reading, beside all of these
  double saves = 0, validations = 0;  // shares of each step
  double device() const { return compute + tp + exposed + slowed + optimizer + host + spread; }
  double step() const { return device() > planner ? device() : planner; }
  double total() const { return step() + saves + validations; }
};

struct GridStep {
  RunConfig config;  // resolved for the grid
  GradientExchange exchange;
  int64_t blocks_of_rank = 0;                    // the most that a dp rank has
  int64_t source_tokens = 0, target_tokens = 0;  // real ones of a step, all ranks
  StepSeconds seconds;
  double exchange_seconds = 0;  // of gradients and weights in all, hidden or not
  Traffic traffic;
  size_t memory = 0;       // bytes of a rank: of its GPU, or of tensors on a CPU
  int64_t parameters = 0;  // of the whole model
  bool fits(const Machine& machine) const;
  double tokens_per_second() const { return static_cast<double>(target_tokens) / seconds.total(); }
};

inline constexpr int64_t kPlannedVocabulary = 32768;  // where none is given

// Fills in what data would, for this grid. Errors of kind usage as in training.
RunConfig resolve_grid_config(RunConfig config, const Machine& machine, int64_t dp, int64_t tp,
                              const GradientExchange& exchange);

// `config` comes from resolve_grid_config, for the same exchange; `valid_sentences` are those of the validation set, if
// the run has one.
GridStep predict_grid(const Machine& machine, const RunConfig& config, const GradientExchange& exchange,
                      int64_t valid_sentences);

}  // namespace weft
