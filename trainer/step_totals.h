// trainer/step_totals.h: totals of a step that all ranks need before its update, in one exchange between the
// hosts.
#pragma once

#include "parallel/mesh.h"
#include "tensor/device_sums.h"
#include "trainer/corpus_losses.h"
#include "trainer/signals.h"

namespace weft {

// Sums that a rank's device accumulates over a step. Parameters are split over tp or whole on each of its
// ranks; their gradients are all-reduced over dp before they are squared.
class StepSums {
 public:
  explicit StepSums(Device device) : sums_(4, device) {}
  void clear(Context& ctx) const { sums_.clear(ctx); }
  Tensor loss() const { return sums_[0]; }  // of this rank's target tokens, weighted, in nats: smoothed and plain
  Tensor nll() const { return sums_[1]; }
  Tensor split_squares() const { return sums_[2]; }  // of gradients
  Tensor whole_squares() const { return sums_[3]; }
  std::vector<double> read(Context& ctx) const { return sums_.read(ctx); }  // in this order; waits

 private:
  DeviceSums sums_;
};

// What else a rank reports of a step.
struct RankReport {
  int64_t source_tokens = 0, target_tokens = 0;  // real ones of its blocks
  double target_weight = 0;                      // of these target tokens; their number without weights
  int64_t dropped = 0, below_score = 0;          // Step::dropped, Step::below_score
  StopRequest request = StopRequest::none;
  bool save_is_ready = false;
  std::vector<CorpusTotals> corpora;  // of the stage's mix; empty if the run needs none
  double busy = 0;                    // seconds that it worked
  double flops = 0;                   // model FLOPs of its blocks
};

inline constexpr size_t kStepTotals = 17;  // numbers of each rank in the exchange, without RankReport::corpora

struct StepTotals {  // the same on every rank
  double loss = 0, nll = 0, flops = 0;
  double target_weight = 0;
  int64_t source_tokens = 0, target_tokens = 0, dropped = 0, below_score = 0;
  std::vector<CorpusTotals> corpora;
  double gradient_square = 0;               // of the whole gradient, as the pass scaled it
  bool finite = true;                       // all gradients, on every rank
  StopRequest request = StopRequest::none;  // the strongest of all ranks
  bool save_is_ready = false;               // on every rank
  std::vector<double> busy;                 // seconds that each rank worked
};

// Sums over all ranks of the mesh, in rank order. `sums`: StepSums::read(). `sharded`: the ranks of dp have squared
// different gradients, not all of them the same.
StepTotals exchange_totals(const std::vector<double>& sums, const RankReport& own, const Mesh& mesh,
                           bool sharded = false);

}  // namespace weft
