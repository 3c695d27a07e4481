// trainer/cluster/grid_step.h: predicts the step time, memory and network traffic of a rank in a dp x tp grid.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/cluster/machine.h"
#include "trainer/config/run_config.h"

namespace weft {

// Describes how dp ranks exchange gradients (parallel.zero, parallel.gradient_type). Training supports a 16-bit wire
// type only with a sharded optimizer, but predictions support this type in every case.
struct GradientExchange {
  bool sharded = false;  // gradients are reduce-scattered, each rank updates a share, and rounded weights are gathered
  DType wire = DType::f32;
  bool operator==(const GradientExchange&) const = default;
};
GradientExchange exchange_of(const ParallelConfig& parallel);

struct Traffic {               // per rank and step
  int64_t dp_collectives = 0;  // for gradients, and for a sharded optimizer's weights or Muon's updates
  int64_t tp_sums = 0;         // number of sums and gathers of tensor parallelism
  double gradient_bytes = 0;   // bytes of the gradients in the wire type
  double weight_bytes = 0;     // bytes of gathered weights, or of Muon's updates
  double tp_bytes = 0;
  double sent_bytes = 0;       // bytes sent over dp
  double exchanged_bytes = 0;  // bytes exchanged between the hosts' processes
  bool operator==(const Traffic&) const = default;
};

struct StepSeconds {                  // for the rank with the most blocks, for which the other ranks wait
  double compute = 0;                 // forward and backward passes of all blocks
  double tp = 0;                      // collectives of tensor parallelism
  double exposed = 0;                 // part of the gradient exchange that computation does not hide
  double slowed = 0;                  // slowdown of computation during the exchange
  double optimizer = 0;               // zeroing the gradients, gradient norm, update
  double host = 0;                    // exchange of totals between the hosts
  double spread = 0;                  // waits for the slowest rank
  double planner = 0;                 // planning and reading blocks, in parallel with the rest
  double saves = 0, validations = 0;  // average time per step
  double device() const { return compute + tp + exposed + slowed + optimizer + host + spread; }
  double step() const { return device() > planner ? device() : planner; }
  double total() const { return step() + saves + validations; }
};

struct GridStep {
  RunConfig config;  // resolved for the grid
  GradientExchange exchange;
  int64_t blocks_of_rank = 0;                    // maximum over dp ranks
  int64_t source_tokens = 0, target_tokens = 0;  // real tokens of a step, summed over all ranks
  StepSeconds seconds;
  double exchange_seconds = 0;  // exchange of gradients and weights, including hidden time
  Traffic traffic;
  size_t memory = 0;       // bytes per rank: on its GPU, or of its process on CPUs
  int64_t parameters = 0;  // parameters of the whole model
  bool fits(const Machine& machine) const;
  double tokens_per_second() const { return static_cast<double>(target_tokens) / seconds.total(); }
};

inline constexpr int64_t kPlannedVocabulary = 32768;  // replaces a vocabulary size of 0

// Resolves the options for this grid, without data. Throws the same Errors of kind usage as training.
RunConfig resolve_grid_config(RunConfig config, const Machine& machine, int64_t dp, int64_t tp,
                              const GradientExchange& exchange);

// Predicts a step. `valid_sentences` is the size of the validation set, if the run has one. REQUIRES: `config` comes
// from resolve_grid_config for the same exchange.
GridStep predict_grid(const Machine& machine, const RunConfig& config, const GradientExchange& exchange,
                      int64_t valid_sentences);

}  // namespace weft
