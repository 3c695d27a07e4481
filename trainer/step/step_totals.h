// trainer/step/step_totals.h: defines the numbers of a step that all ranks exchange before the update.
//
// Each number has one line in for_each_total(), which defines the ranks that contribute to the number and how it is
// reduced. Packing, exchange and unpacking use only this list.
#pragma once

#include <cmath>
#include <vector>

#include "data/batch_config.h"
#include "model/loss.h"
#include "parallel/mesh.h"
#include "tensor/device_sums.h"
#include "trainer/signals.h"
#include "trainer/step/corpus_losses.h"

namespace weft {

struct StepTotals {                              // of one rank before exchange_totals(), of all ranks after it
  double loss = 0, nll = 0;                      // weighted sums over target tokens in nats; `loss` is smoothed
  double divergence = 0;                         // the part of `loss` that compares two passes (model/consistency.h)
  int64_t pairs = 0;                             // pairs in the blocks
  int64_t source_tokens = 0, target_tokens = 0;  // without padding
  double target_weight = 0;                      // sum of the target tokens' weights (default 1)
  int64_t dropped = 0, below_score = 0;          // Step::dropped, Step::below_score
  double flops = 0;                              // model FLOPs (trainer/step/step_flops.h)
  double split_squares = 0, whole_squares = 0;   // sums of squared gradients of split and of replicated
                                                 // parameters, in the scale of the backward pass
  bool not_finite = false;                       // true if a gradient on any rank is not finite
  bool save_goes_on = false;                     // true if a rank is still working on a phase of a save
  bool refuses_graphs = false;                   // true if a rank's GPU refuses to record a CUDA graph
  StopRequest request = StopRequest::none;       // strongest request of all ranks
  double clock = 0;                              // share of train.minutes that was over before the step
  std::vector<double> busy;                      // seconds of work per rank
  std::vector<CorpusTotals> corpora;             // per corpus of the stage's mix

  double per_weight() const { return 1.0 / target_weight; }
  double fill(const BatchConfig& batch) const;  // share of a step's rows that contain tokens
  double gradient_square() const { return split_squares + whole_squares; }
  bool finite() const { return !not_finite && std::isfinite(gradient_square()); }
};

// The ranks that contribute to a number. Blocks differ between dp ranks, and the squares of split parameters differ
// between tp ranks. Gradients are summed over dp before they are squared, so all dp ranks have the same squares, unless
// each rank has squared only the gradients of its shard.
enum class TotalOf : uint8_t { blocks, split_squares, whole_squares, each_rank };

// Visits each number in this order, with the ranks that contribute to it. v.sum() adds the contributions, v.largest()
// takes their maximum, and v.list() keeps all of them.
template <typename Totals, typename V>
void for_each_total(Totals& t, V&& v) {
  v.sum(t.loss, TotalOf::blocks);
  v.sum(t.nll, TotalOf::blocks);
  v.sum(t.divergence, TotalOf::blocks);
  v.sum(t.pairs, TotalOf::blocks);
  v.sum(t.source_tokens, TotalOf::blocks);
  v.sum(t.target_tokens, TotalOf::blocks);
  v.sum(t.target_weight, TotalOf::blocks);
  v.sum(t.dropped, TotalOf::blocks);
  v.sum(t.below_score, TotalOf::blocks);
  v.sum(t.flops, TotalOf::blocks);
  v.sum(t.split_squares, TotalOf::split_squares);
  v.sum(t.whole_squares, TotalOf::whole_squares);
  v.largest(t.not_finite, TotalOf::each_rank);
  v.largest(t.save_goes_on, TotalOf::each_rank);
  v.largest(t.refuses_graphs, TotalOf::each_rank);
  v.largest(t.request, TotalOf::each_rank);
  v.largest(t.clock, TotalOf::each_rank);
  v.list(t.busy);
  for (auto& corpus : t.corpora) {
    v.sum(corpus.passed, TotalOf::blocks);
    v.sum(corpus.nll, TotalOf::blocks);
    v.sum(corpus.target_weight, TotalOf::blocks);
  }
}

// Returns the totals of all ranks, added in rank order. All ranks call it with their `own` numbers, where `busy` has
// one entry, and get the same result. `sharded` means that the dp ranks have squared different gradients.
StepTotals exchange_totals(StepTotals own, const Mesh& mesh, bool sharded = false);

int64_t bytes_of_totals();  // bytes that a rank sends, without the totals per corpus

// Sums that a rank's device accumulates over a step.
class StepSums {
 public:
  explicit StepSums(Device device) : sums_(5, device) {}
  void clear(Context& ctx) const { sums_.clear(ctx); }
  Tensor loss() const { return sums_[0]; }
  Tensor nll() const { return sums_[1]; }
  Tensor split_squares() const { return sums_[2]; }
  Tensor whole_squares() const { return sums_[3]; }
  Tensor divergence() const { return sums_[4]; }
  void add(Context& ctx, const RowLoss& of_block) const;
  void read(Context& ctx, StepTotals& into) const;  // waits for the device

 private:
  DeviceSums sums_;
};

}  // namespace weft
