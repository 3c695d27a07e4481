// trainer/trainer.h: one rank's replica of the model with its optimizer, and the training step.
//
// Read Trainer::step_on first. A step is a list of blocks on every grid: data-parallel ranks divide the
// blocks, tensor-parallel ranks divide the work of each block. Loss and gradients are sums over all blocks, in which
// each target token has the weight of its pair, divided by the sum of these weights.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/batch.h"
#include "model/parameters/param_gather.h"
#include "tensor/device_scalars.h"
#include "trainer/flat_states.h"
#include "trainer/health/busy_time.h"
#include "trainer/optimizer/evaluation_weights.h"
#include "trainer/optimizer/loss_scaler.h"
#include "trainer/replica.h"
#include "trainer/step/corpus_losses.h"
#include "trainer/step/step_graphs.h"
#include "trainer/step/step_totals.h"
#include "trainer/train_state.h"

namespace weft {

class CheckpointSaver;
class TrainingData;

struct StepReport {
  int64_t step = 0;             // number of finished steps
  size_t stage = 0;             // of the data
  std::vector<int64_t> epochs;  // of each corpus of the stage's mix
  StepTotals totals;            // of all ranks
  double lr = 0, grad_norm = 0;
  double loss_scale = 1;  // used in this step
  double seconds = 0;
  std::string not_finite;  // where, if a lower loss scale cannot help

  // Weighted means over the target tokens, in nats: smoothed and plain; NaN without weight.
  double loss() const { return totals.loss * totals.per_weight(); }
  double nll() const { return totals.nll * totals.per_weight(); }
  int64_t epoch() const { return epochs.empty() ? 0 : epochs.front(); }
  bool skipped() const { return !totals.finite(); }  // a gradient was not finite: no rank took the step
};

class Trainer {
 public:
  // `config` is resolved (trainer/plan/resolve.h), its precision decided. Initialises the parameters. All ranks
  // construct one together. `has_mixes`: losses are divided among the corpora of a step.
  Trainer(const RunConfig& config, const Mesh& mesh, bool has_mixes = false);

  // Before the first step: times the matrix products that `known` does not hold, on an empty block. Returns what the
  // main rank chose, for the next start; all ranks compute with it. All ranks call it, with the same `known`.
  std::string tune_gemms(const std::string& known);

  StepReport step(TrainingData& data, StopRequest request = StopRequest::none);  // `request`: this rank's
  // A step on this rank's blocks, at the learning rate `lr`.
  StepReport step_on(const Step& step, double lr, StopRequest request = StopRequest::none);

  // Steps, optimizer steps, sums of rates, precision and loss scale.
  void snapshot(TrainState& state) const;
  // Values, moments, average and loss scale of a checkpoint whose state is `then`; an average that it lacks begins at
  // its weights. Steps go on from where they are; after resume() from those of the checkpoint. All ranks call it; one
  // of each host reads. `verified`: on that rank, if the digests of its files have been checked.
  void load(const std::string& checkpoint, const TrainState& then, bool verified);
  void resume(const std::string& checkpoint, const TrainState& then, bool verified);
  // A saver that copies the weights beside the next steps: updates wait for the copy, and totals say whether some rank
  // still saves. nullptr: none.
  void set_saver(const CheckpointSaver* saver) { saver_ = saver; }

  // For its lifetime layers compute with the weights for evaluation; nullptr if those of training are meant. All ranks
  // call it together. The weights are whole, as after gather_weights().
  [[nodiscard]] std::unique_ptr<EvaluationWeights> evaluation_weights();
  void begin_average() { optimizer_.begin_average(ctx_); }  // at the present weights, if the run has an average

  // With a sharded optimizer: brings the weights of the last update from all shards, if the next step has not done so.
  // All ranks call it before they read weights outside of steps.
  void gather_weights();
  std::vector<FlatState> states() {
    return flat_states(ctx_, replica_.device_mesh().dp(), replica_.params(), optimizer_);
  }

  Pass pass(bool training);  // uses the arena of training
  Replica& replica() { return replica_; }
  const StepGraphs& graphs() const { return graphs_; }

 private:
  void zero_gradients();
  void add_block(const Block& block, bool last, StepScalars& scalars);
  StepTotals totals_of(const Step& step, StopRequest request);
  void update(StepScalars& scalars, double lr, double grad_scale);
  std::string trace_not_finite(const Step& step, StepScalars scalars);
  void check_replicas();

  const RunConfig config_;
  const Mesh& mesh_;
  Replica replica_;
  Context& ctx_;
  Optimizer optimizer_;
  LossScaler scaler_;
  BusyTime busy_;
  GradSync grad_sync_;
  std::optional<ParamGather> gather_;  // of a sharded optimizer
  bool weights_are_whole_ = true;
  StepSums sums_;
  DeviceScalars scalars_;
  Arena arena_;
  StepGraphs graphs_;  // after replica_: graphs must be destroyed before NCCL's communicators
  std::optional<CorpusLosses> corpus_losses_;
  const CheckpointSaver* saver_ = nullptr;
  int64_t step_ = 0;
};

}  // namespace weft
