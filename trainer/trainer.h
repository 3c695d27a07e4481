// trainer/trainer.h: takes training steps with one rank's replica of the model and its optimizer.
//
// Read Trainer::step_on first. On every grid a step is a list of blocks. Data-parallel ranks divide the blocks, and
// tensor-parallel ranks divide the work of each block. Loss and gradients are weighted means over the target tokens of
// all blocks. The weight of a token is the weight of its pair.
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
  size_t stage = 0;             // index of the data stage
  std::vector<int64_t> epochs;  // epoch of each corpus in the stage's mix
  StepTotals totals;            // summed over all ranks
  double lr = 0, grad_norm = 0;
  double loss_scale = 1;  // used in this step
  double seconds = 0;
  std::string not_finite;  // location of a value that is not finite, if a lower loss scale cannot help
  std::string no_graphs;   // the reason why the following steps use no CUDA graphs, if a GPU has refused to record

  // Weighted means over the target tokens in nats; NaN if all weights are 0. Only loss() includes label smoothing.
  double loss() const { return totals.loss * totals.per_weight(); }
  double nll() const { return totals.nll * totals.per_weight(); }
  double divergence() const { return totals.divergence * totals.per_weight(); }
  int64_t epoch() const { return epochs.empty() ? 0 : epochs.front(); }
  bool skipped() const { return !totals.finite(); }  // a gradient was not finite, so no rank took the step
};

class Trainer {
 public:
  // Initializes the parameters. All ranks construct their Trainer together. With `has_mixes`, the losses of a step are
  // also summed per corpus. REQUIRES: `config` is resolved (trainer/plan/resolve.h), including its precision.
  Trainer(const RunConfig& config, const Mesh& mesh, bool has_mixes = false);

  // Times GEMM algorithms on an empty block for matrix products that `known` lacks. Returns the main rank's choices,
  // which all ranks use, as the `known` of the next start. All ranks call it with the same `known` before they train.
  std::string tune_gemms(const std::string& known);

  // `request` is this rank's, and `clock` the share of train.minutes that is over for it. The largest values of all
  // ranks count.
  StepReport step(TrainingData& data, StopRequest request = StopRequest::none, double clock = 0);
  // Takes a step on this rank's blocks at the learning rate `lr`.
  StepReport step_on(const Step& step, double lr, StopRequest request = StopRequest::none, double clock = 0);

  // Fills in steps, optimizer steps, sums of rates, precision and loss scale.
  void snapshot(TrainState& state) const;
  // Load weights, moments, average and loss scale of a checkpoint with state `then`. If the checkpoint has no average,
  // the average starts at its weights. load() keeps the step count, but resume() sets it to the checkpoint's. All ranks
  // call them, and one rank per host reads. `verified` means that this rank has checked the digests.
  void load(const std::string& checkpoint, const TrainState& then, bool verified);
  void resume(const std::string& checkpoint, const TrainState& then, bool verified);
  // Sets a saver that copies the weights during the next steps. Updates wait for the copy, and totals report whether
  // any rank is still saving. nullptr removes the saver.
  void set_saver(const CheckpointSaver* saver) { saver_ = saver; }

  // Makes layers compute with the weights for evaluation during the lifetime of the result. Returns nullptr if these
  // are the training weights. All ranks call it together. Gathers the weights first if necessary.
  [[nodiscard]] std::unique_ptr<EvaluationWeights> evaluation_weights();
  void begin_average() { optimizer_.begin_average(ctx_); }  // starts the average, if any, at the current weights

  // With a sharded optimizer, gathers the weights of the last update from all shards, unless they are gathered already.
  // All ranks call it before they read weights outside of steps.
  void gather_weights();
  std::vector<FlatState> states() {
    return flat_states(ctx_, replica_.device_mesh().dp(), replica_.params(), optimizer_);
  }

  Pass pass(bool training);  // uses the training arena
  Replica& replica() { return replica_; }
  const StepGraphs& graphs() const { return graphs_; }

 private:
  void zero_gradients();
  void add_block(const Block& block, bool last, StepScalars& scalars);
  StepTotals totals_of(const Step& step, StopRequest request, double clock);
  std::string stop_recording();
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
  std::optional<ParamGather> gather_;  // with a sharded optimizer
  bool weights_are_whole_ = true;
  StepSums sums_;
  DeviceScalars scalars_;
  Arena arena_;
  StepGraphs graphs_;  // declared after replica_, because graphs must be destroyed before NCCL's communicators
  std::optional<CorpusLosses> corpus_losses_;
  const CheckpointSaver* saver_ = nullptr;
  int64_t step_ = 0;
};

}  // namespace weft
