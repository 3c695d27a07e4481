// trainer/config/run_config.h: options of a run, grouped in sections.
//
// Each struct is declared beside the code that owns it. One list of fields (`fields(v)`: name, member,
// sentence) feeds the command line, the .cfg file, --help and the saved config (trainer/config/config_text.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch_config.h"
#include "model/config.h"
#include "parallel/mesh.h"
#include "parallel/placement/rank_device.h"
#include "trainer/optimizer/optimizer.h"
#include "trainer/optimizer/schedule.h"

namespace weft {

struct DataConfig {
  std::string train, valid, min_score;
  template <typename V>
  void fields(V& v) {
    v("train", train,
      "folder that `weft pack` made, or a mix: several with weights of their pairs, a:3,b:1; empty = stages "
      "(stage.NAME.mix)");
    v("min_score", min_score,
      "least score of the pairs of data.train that are used: a number, or FOLDER:NUMBER,... for some corpora of a mix; "
      "empty = all pairs (stages have stage.NAME.min_score)");
    v("valid", valid,
      "the same for validation, packed with the training set's tokenizer: a folder, or several sets as "
      "NAME=FOLDER,NAME=FOLDER,...; empty = no validation");
  }
};

// A stage of the data, of a name that the user gives (docs/running.md). Stages come in the order of their first
// mention.
struct StageConfig {
  std::string name;
  std::string mix, epochs, min_score;
  int64_t steps = 0, tokens = 0;
  bool has_schedule = false;  // if any option of it is given
  ScheduleConfig schedule;

  template <typename V>
  void fields(V& v) {
    v("mix", mix, "what the stage trains on: a folder that `weft pack` made, or several with weights: a:3,b:1");
    v("min_score", min_score,
      "least score of the pairs that are used: a number, or FOLDER:NUMBER,... for some corpora of the mix; empty = all "
      "pairs");
    v("steps", steps, "the stage ends after so many steps; 0 = not by steps (the last stage needs no end)",
      OnResume::ends_stage);
    v("tokens", tokens, "the stage ends with the step that reaches so many target tokens; 0 = not by tokens",
      OnResume::ends_stage);
    v("epochs", epochs,
      "the stage ends with the step in which a corpus of its mix has been gone through so often: FOLDER:EPOCHS; "
      "empty = not by epochs",
      OnResume::ends_stage);
    if (has_schedule) v("schedule", schedule);
  }
};

// Storage type of activations and GEMM operands; everything else is always f32 (docs/precision.md).
enum class Precision : uint8_t { automatic, f32, bf16, f16 };
constexpr EnumNames<Precision, 4> enum_names(Precision) {
  return {
      {{"auto", Precision::automatic}, {"f32", Precision::f32}, {"bf16", Precision::bf16}, {"f16", Precision::f16}}};
}

// Whether a step's work is replayed as CUDA graphs (trainer/step/step_graphs.h); automatic: where it can be recorded.
enum class CudaGraph : uint8_t { automatic, off, on };
constexpr EnumNames<CudaGraph, 3> enum_names(CudaGraph) {
  return {{{"auto", CudaGraph::automatic}, {"false", CudaGraph::off}, {"true", CudaGraph::on}}};
}

enum class PatienceFrom : uint8_t { last_stage, start };
constexpr EnumNames<PatienceFrom, 2> enum_names(PatienceFrom) {
  return {{{"last_stage", PatienceFrom::last_stage}, {"start", PatienceFrom::start}}};
}

enum class OnDivergence : uint8_t { stop, rollback, ignore };  // trainer/health/divergence.h
constexpr EnumNames<OnDivergence, 3> enum_names(OnDivergence) {
  return {{{"stop", OnDivergence::stop}, {"rollback", OnDivergence::rollback}, {"ignore", OnDivergence::ignore}}};
}

struct TrainConfig {
  int64_t steps = 100000;
  double minutes = 0;
  uint64_t seed = 1;
  double label_smoothing = 0.1;
  std::string output, init;
  int64_t validate_every = 1000, save_every = 1000, log_every = 10;
  int64_t validate_bleu = 500;
  std::string validate_command;
  double validate_command_minutes = 30;
  int64_t samples = 4;
  bool tensorboard = true;
  double peak_flops = 0, memory_bandwidth = 0;
  double save_minutes = 0;
  int64_t keep_last = 3;
  int64_t keep_every = 0, keep_best_checkpoints = 1;
  int64_t check_replicas = 1000;
  std::string keep_best = "bleu";
  Precision precision = Precision::automatic;
  int64_t patience = 0;
  PatienceFrom patience_from = PatienceFrom::last_stage;
  OnDivergence on_divergence = OnDivergence::stop;
  double divergence_rise = 1;
  double ema = 0;
  bool recompute = false;
  CudaGraph cuda_graph = CudaGraph::automatic;
  bool tune_gemm = false;
  bool fresh = false;
  bool allow_changes = false;

  template <typename V>
  void fields(V& v) {
    v("steps", steps, "total number of optimizer steps");
    v("minutes", minutes, "validate, save and stop after this much training time; 0 = no limit");
    v("seed", seed, "seed of initial values, order of sentences and dropout", OnResume::order);
    v("label_smoothing", label_smoothing, "e: 1 - e on the target, e / (V - 1) on every other entry",
      OnResume::retrains);
    v("output", output, "the run's folder: config, log, checkpoints; a run with the same folder resumes");
    v("init", init, "a checkpoint or a run whose parameters a new run starts with; empty = random ones",
      OnResume::has_no_effect);
    v("validate_every", validate_every, "steps between validations; 0 = never");
    v("save_every", save_every, "steps between checkpoints; 0 = only at the end");
    v("save_minutes", save_minutes, "minutes of training after which to save, too; 0 = only after save_every steps");
    v("log_every", log_every, "steps between progress lines on a pipe");
    v("validate_bleu", validate_bleu,
      "sentences of each validation set to translate for BLEU and chrF; 0 = none, -1 = all");
    v("validate_command", validate_command,
      "a shell command that scores each set's translations beside the training: $WEFT_SOURCE, $WEFT_HYPOTHESIS and "
      "$WEFT_REFERENCE name its files, and the last word that it prints is the score; empty = none");
    v("validate_command_minutes", validate_command_minutes, "after which validate_command is ended, for each set");
    v("samples", samples,
      "first sentences of each validation set whose translations log.jsonl keeps at each validation, at most "
      "validate_bleu");
    v("tensorboard", tensorboard,
      "write scalars, samples and attention to event files for TensorBoard, in the folder's tensorboard/");
    v("peak_flops", peak_flops,
      "peak operations a second of a rank's processor, of which the log's mfu is the share that the model uses; 0 = "
      "measured on CPUs, of the data sheet for A100, H100 and H200, else not known");
    v("memory_bandwidth", memory_bandwidth,
      "bytes a second of the memory of a rank's processor, for the log's roofline, the least time of a step as a share "
      "of the step's; 0 as for peak_flops");
    v("keep_last", keep_last, "newest checkpoints to keep, besides the best");
    v("keep_every", keep_every, "keep checkpoints of every so many steps for good, too; 0 = none");
    v("check_replicas", check_replicas,
      "steps between checks that ranks still hold equal parameters and moments; 0 = never");
    v("keep_best", keep_best,
      "what the best checkpoint is best by: loss, bleu, chrf or score (of validate_command) of the first validation "
      "set, of another (news.bleu), or a sum (0.5*dev.bleu+0.5*news.bleu)");
    v("keep_best_checkpoints", keep_best_checkpoints,
      "checkpoints to keep of the steps that were validated best, the best one among them: for `weft average --best`");
    v("precision", precision,
      "precision of activations and matmuls: auto (bf16 if every rank's device has instructions for it, else "
      "f32), f32, bf16 or f16; weights, gradients, moments and sums are always f32 (between ranks: "
      "parallel.gradient_type)");
    v("ema", ema,
      "decay of an exponential moving average of the weights, with which the model is validated, chosen and used "
      "(checkpoints have both): 0.999 averages about the last 1,000 steps; 0 = none");
    v("recompute", recompute,
      "keep only each layer's input and repeat its forward pass before its backward pass: far less memory for "
      "activations, about a third more work, the same results");
    v("cuda_graph", cuda_graph,
      "GPUs: record the work of a block of the batch once and replay it as a CUDA graph, which spares the host its "
      "launches: auto (on GPUs, with NCCL between ranks), true or false");
    v("tune_gemm", tune_gemm,
      "GPUs: before the first step, time the algorithms of each matrix product, and its epilogue against separate "
      "passes; the run's folder keeps the choices (tuned_gemms), which may differ between runs in the last bits");
    v("patience", patience, "stop after this many validations without a better one; 0 = never");
    v("patience_from", patience_from,
      "validations that count for it: of the last_stage of the data (stage.NAME), or from the start");
    v("on_divergence", on_divergence,
      "when the run has diverged: stop, rollback (continue after this step with the parameters of the last good "
      "checkpoint), or ignore a loss that rose (gradients that stay non-finite stop the run)");
    v("divergence_rise", divergence_rise,
      "nats per target token: the run has diverged when the loss was higher than its lowest mean by more than this in "
      "each of 20 steps");
    v("fresh", fresh, "restart although the folder has checkpoints: they are moved aside first", OnResume::this_start);
    v("allow_changes", allow_changes,
      "resume although options that change the training have new values: batch.blocks, dropout, label smoothing, "
      "optimizer (not its kind), schedule",
      OnResume::this_start);
  }
};

struct DecodeConfig {
  int64_t beam = 5;
  double length_penalty = 0.6;
  double max_length_factor = 2.0;
  int64_t max_length_extra = 10;
  int64_t nbest = 1;

  template <typename V>
  void fields(V& v) {
    v("beam", beam, "hypotheses kept; 1 = greedy");
    v("length_penalty", length_penalty, "alpha of GNMT's penalty ((5 + length) / 6)^alpha; 0 = none (Wu et al. 2016)");
    v("max_length_factor", max_length_factor, "a translation has at most factor * source tokens + extra tokens");
    v("max_length_extra", max_length_extra, "see max_length_factor");
    v("nbest", nbest, "translations to give for each sentence, at most the beam");
  }
};

struct RunConfig {
  DeviceChoice device = DeviceChoice::automatic;  // of this start: a run may resume on another device
  ModelConfig model;
  DataConfig data;
  std::vector<StageConfig> stages;
  BatchConfig batch;
  ParallelConfig parallel;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  TrainConfig train;
  DecodeConfig decode;

  template <typename V>
  void sections(V& v) {
    v("device", device, kDeviceSentence, OnResume::this_start);
    v("model", model);
    v("data", data);
    v("stage", stages);
    v("batch", batch);
    v("parallel", parallel);
    v("optimizer", optimizer);
    v("schedule", schedule);
    v("train", train);
    v("decode", decode);
  }
};

inline bool validates(const RunConfig& c) { return !c.data.valid.empty() && c.train.validate_every > 0; }
inline bool translates(const RunConfig& c) { return validates(c) && c.train.validate_bleu != 0; }

}  // namespace weft
