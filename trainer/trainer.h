// trainer/trainer.h: one rank's replica of the model, optimizer and data, and the training step.
//
// Read Trainer::step_on first. A step is a list of blocks on every grid: data-parallel ranks divide the
// blocks, tensor-parallel ranks divide the work of each block. Loss and gradients are sums over all blocks, in which
// each target token has the weight of its pair, divided by the sum of these weights.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "data/corpus_verifier.h"
#include "data/loader.h"
#include "model/parameters/param_gather.h"
#include "tensor/device_scalars.h"
#include "trainer/checkpoint/checkpoint_saver.h"
#include "trainer/corpus_losses.h"
#include "trainer/evaluation_weights.h"
#include "trainer/flat_states.h"
#include "trainer/health/busy_time.h"
#include "trainer/optimizer/loss_scaler.h"
#include "trainer/replica.h"
#include "trainer/stage_run.h"
#include "trainer/step_graphs.h"
#include "trainer/step_totals.h"
#include "trainer/train_state.h"

namespace weft {

struct StepReport {
  int64_t step = 0, epoch = 0;  // step: number of finished steps; epoch: of the first corpus of its mix
  size_t stage = 0;
  std::vector<int64_t> epochs;  // of each corpus of the stage's mix
  std::vector<CorpusTotals> corpora;
  double loss = 0, nll = 0;  // weighted mean of the target tokens, in nats: smoothed and plain; NaN without weight
  double lr = 0, grad_norm = 0;
  double loss_scale = 1;                         // used in this step
  int64_t source_tokens = 0, target_tokens = 0;  // without padding, all ranks
  double target_weight = 0;                      // of these target tokens; 0: no rank took the step
  double seconds = 0, fill = 0;
  double flops = 0;                         // of the model, all ranks
  bool skipped = false;                     // a gradient was not finite: no rank took the step
  std::string not_finite;                   // where, if a lower loss scale cannot help
  StopRequest request = StopRequest::none;  // the strongest of all ranks
  bool save_is_ready = false;               // saver().advance() is due
  std::vector<double> busy;                 // seconds that each rank worked; empty if that is not known
};

class Trainer {
 public:
  // `config` is resolved (trainer/plan/run_plan.h), its precision decided. Initialises the parameters. All
  // ranks construct one together. Without data there is no loader, and only step_on() can be called.
  Trainer(const RunConfig& config, const Mesh& mesh);

  // Before the first step: times the matrix products that `known` does not hold, on an empty block. Returns what the
  // main rank chose, for the next start; all ranks compute with it. All ranks call it, with the same `known`.
  std::string tune_gemms(const std::string& known);

  StepReport step(StopRequest request = StopRequest::none);  // `request`: this rank's
  // A step on this rank's blocks.
  StepReport step_on(const Step& step, StopRequest request = StopRequest::none);

  // Starts to save checkpoint `state.step` under `root`. The save goes on beside the next steps; `after_commit` gets
  // its folder, on the main rank, in a thread.
  void start_save(const std::string& root, const TrainState& state, const std::string& config_text,
                  std::function<void(const std::string&)> after_commit = {}, bool yields = true);
  CheckpointSaver& saver() { return saver_; }
  // Values, moments, average and data position; an average that the checkpoint lacks begins at its weights. All ranks
  // call it; one of each host reads. The world's main rank has verified the checkpoint.
  void load(const std::string& checkpoint, TrainState& state);
  // Only the values, moments, average and loss scale of an earlier step; steps and data position go on.
  void go_back_to(const std::string& checkpoint);
  // Step, optimizer steps, cursor, order, model, precision and loss scale; the caller fills in the rest. The cursor is
  // that of this rank's streams: start_save() gathers the others.
  void snapshot(TrainState& state) const;
  // The stages of the data; only with data.
  const StageRun& stages() const { return *stages_; }
  bool stage_is_over() const { return stages_ && stages_->is_over() && !stages_->is_last(); }
  // An Error if a file of the next stage is missing or damaged; the trainer stays as it is, and can be saved.
  void require_next_stage();
  void enter_next_stage();  // between two steps; otherwise step() does it before the next one
  // A file of the next stage that was found missing or damaged in the meantime; said once.
  std::optional<std::string> damage_of_next_stage();
  bool data_is_over() const { return stages_ && stages_->is_last() && stages_->is_over(); }
  // What of the stages changed when the run resumed, one line each.
  const std::vector<std::string>& changes_of_stages() const { return changes_of_stages_; }
  // Pairs passed over since the start: that do not fit a block, and whose score is too low.
  int64_t dropped() const { return dropped_; }
  int64_t below_score() const { return below_score_; }

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
  TrainState read_state(const std::string& checkpoint);
  // And moments, average, and the loss scale of `then`, the checkpoint's state.
  void load_parameters(const std::string& checkpoint, const TrainState& then, bool verified);
  void start_loader(const StepCursor& cursor);
  double rate() const;
  std::vector<CorpusTotals> totals_of_corpora(const Step& step);
  StepCursor cursor_of_all_ranks(const StepCursor& own) const;
  void add_block(const Block& block, bool gathers, bool last, StepScalars& scalars);
  void update(StepScalars& scalars, double lr, double grad_scale);
  std::string trace_not_finite(const Step& step, StepScalars scalars);
  void check_replicas();

  RunConfig config_;
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
  DataOrder order_;
  Architecture architecture_;
  std::map<std::string, std::string> tokenizers_;  // the corpus': name -> contents, for the checkpoints
  std::optional<StageRun> stages_;
  std::optional<CorpusLosses> corpus_losses_;  // if a stage has several corpora
  std::vector<std::string> changes_of_stages_;
  std::map<std::string, Corpus> corpora_;  // of all stages, by folder, as they were when the run started
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<CorpusVerifier> verifier_;  // of the corpora of the next stage
  CheckpointSaver saver_;                     // after the memory that its thread copies
  int64_t step_ = 0, dropped_ = 0, below_score_ = 0;
};

// Bytes that the forward and backward pass of one block need on this rank, measured by a dry run.
// `dry`, a context for dry runs, records the scratch memory of a step's ops.
size_t arena_bytes(const RunConfig& config, const TensorParallel& tp, Context& dry);

// Throws an Error of kind usage if the run is to tune (train.tune_gemm) what only GPUs have.
void require_gpu_to_tune(const RunConfig& config, Device device);

int64_t longest_row(const BatchConfig& batch);  // largest number of positions in a block, on either side

}  // namespace weft
