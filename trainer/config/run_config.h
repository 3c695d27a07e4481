// trainer/config/run_config.h: defines the options of a run, grouped in sections.
//
// Each struct is declared next to the code that owns it. Its list of fields (name, member and sentence, in `fields(v)`)
// is used for the command line, .cfg files, --help and the saved configuration (trainer/config/config_text.h).
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
      "folder written by `weft pack`, or a mix of several folders with weights, for example a:3,b:1; empty = defined "
      "per stage (stage.NAME.mix)");
    v("min_score", min_score,
      "use only pairs of data.train with at least this score: a number, or FOLDER:NUMBER,... for corpora of a mix; "
      "empty = all pairs (per stage: stage.NAME.min_score)");
    v("valid", valid,
      "validation set, packed with the training set's tokenizer: a folder, or several sets as "
      "NAME=FOLDER,NAME=FOLDER,...; empty = no validation");
  }
};

// A stage of the data, with a name chosen by the user (docs/stages.md). Stages run in the order in which the
// configuration first mentions them.
struct StageConfig {
  std::string name;
  std::string mix, epochs, min_score;
  int64_t steps = 0, tokens = 0;
  bool has_schedule = false;  // true if any option of the schedule is given
  ScheduleConfig schedule;

  template <typename V>
  void fields(V& v) {
    v("mix", mix, "data of the stage: a folder written by `weft pack`, or a mix of several, for example a:3,b:1");
    v("min_score", min_score,
      "use only pairs with at least this score: a number, or FOLDER:NUMBER,... for corpora of the mix; empty = all "
      "pairs");
    v("steps", steps, "end the stage after this many steps; 0 = no limit (the last stage does not need one)",
      OnResume::ends_stage);
    v("tokens", tokens, "end the stage after the step that reaches this many target tokens; 0 = no limit",
      OnResume::ends_stage);
    v("epochs", epochs, "end the stage after N epochs of a corpus of its mix, given as FOLDER:N; empty = no limit",
      OnResume::ends_stage);
    if (has_schedule) v("schedule", schedule);
  }
};

// The type in which activations and GEMM operands are stored. All other values are f32 (docs/hardware/precision.md).
enum class Precision : uint8_t { automatic, f32, bf16, f16 };
constexpr EnumNames<Precision, 4> enum_names(Precision) {
  return {
      {{"auto", Precision::automatic}, {"f32", Precision::f32}, {"bf16", Precision::bf16}, {"f16", Precision::f16}}};
}

// Whether steps are replayed as CUDA graphs (trainer/step/step_graphs.h). automatic: if they can be recorded.
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
    v("minutes", minutes, "validate, save and stop after this many minutes of training; 0 = no limit");
    v("seed", seed, "seed of the initial values, the order of sentences, and dropout", OnResume::order);
    v("label_smoothing", label_smoothing,
      "label smoothing e: the target gets probability 1 - e, and each of the other V - 1 entries gets e / (V - 1)",
      OnResume::retrains);
    v("output", output, "folder of the run, for config, log and checkpoints; if it contains a run, that run resumes");
    v("init", init, "checkpoint or run whose parameters a new run starts with; empty = random initialization",
      OnResume::has_no_effect);
    v("validate_every", validate_every, "steps between validations; 0 = never");
    v("save_every", save_every, "steps between checkpoints; 0 = only at the end");
    v("save_minutes", save_minutes, "also save after this many minutes of training; 0 = only every save_every steps");
    v("log_every", log_every, "steps between progress lines if the output is not a terminal");
    v("validate_bleu", validate_bleu,
      "sentences of each validation set to translate for BLEU and chrF; 0 = none, -1 = all");
    v("validate_command", validate_command,
      "shell command that scores the translations of each set while training continues; $WEFT_SOURCE, $WEFT_HYPOTHESIS "
      "and $WEFT_REFERENCE name the set's files, and the last word of the output is the score; empty = none");
    v("validate_command_minutes", validate_command_minutes, "time limit of validate_command in minutes, per set");
    v("samples", samples,
      "number of first sentences of each validation set whose translations log.jsonl records; at most validate_bleu");
    v("tensorboard", tensorboard,
      "write scalars, samples and attention as TensorBoard event files into the folder tensorboard/ of the run");
    v("peak_flops", peak_flops,
      "peak FLOP/s of one rank, used to compute mfu; 0 = measured (CPUs) or from the data sheet (A100, H100, H200)");
    v("memory_bandwidth", memory_bandwidth,
      "memory bandwidth of one rank in bytes/s, for the log's roofline (the minimum time of a step divided by its "
      "actual time); 0 = same as for peak_flops");
    v("keep_last", keep_last, "number of most recent checkpoints to keep, in addition to the best ones");
    v("keep_every", keep_every, "also keep every checkpoint whose step is a multiple of this; 0 = none");
    v("check_replicas", check_replicas,
      "steps between checks that parameters and moments are equal on all ranks; 0 = never");
    v("keep_best", keep_best,
      "metric that selects the best checkpoint: loss, bleu, chrf or score (of validate_command) of the first "
      "validation set, of another set (news.bleu), or a sum (0.5*dev.bleu+0.5*news.bleu)");
    v("keep_best_checkpoints", keep_best_checkpoints,
      "number of checkpoints with the best validations to keep, for `weft average --best`");
    v("precision", precision,
      "precision of activations and matmuls: auto (bf16 if every rank's device has bf16 instructions, else f32), f32, "
      "bf16 or f16; weights, gradients, moments and sums are always f32 (between ranks: parallel.gradient_type)");
    v("ema", ema,
      "decay of an exponential moving average of the weights, which is then validated, selected and used instead of "
      "them (checkpoints contain both); 0.999 averages about the last 1,000 steps; 0 = none");
    v("recompute", recompute,
      "store only the input of each layer and repeat the layer's forward pass before its backward pass: needs far "
      "less memory for activations and about a third more work, with the same results");
    v("cuda_graph", cuda_graph,
      "on GPUs, record the work of a block of the batch once and replay it as a CUDA graph, which saves kernel "
      "launches: true, false, or auto (true on GPUs, if ranks communicate with NCCL)");
    v("tune_gemm", tune_gemm,
      "on GPUs, before the first step, measure which algorithm is fastest for each matrix product and whether to fuse "
      "its epilogue; choices are saved in the run's folder (tuned_gemms), so runs may differ in the last bits");
    v("patience", patience, "stop after this many validations without improvement; 0 = never");
    v("patience_from", patience_from,
      "validations that patience counts: last_stage = those in the last stage of the data, start = all");
    v("on_divergence", on_divergence,
      "action when the run has diverged: stop, rollback (continue after this step with the parameters of the last good "
      "checkpoint), or ignore (only for a rising loss; gradients that stay non-finite still stop the run)");
    v("divergence_rise", divergence_rise,
      "the run has diverged when the loss of each of 20 steps exceeds the lowest mean loss by more than this, in nats "
      "per target token");
    v("fresh", fresh, "start over even if the folder contains checkpoints, which are first moved aside",
      OnResume::this_start);
    v("allow_changes", allow_changes,
      "resume even if options that change the training have new values: batch.blocks, dropout, label smoothing, "
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
    v("beam", beam, "beam size, the number of hypotheses kept per sentence; 1 = greedy");
    v("length_penalty", length_penalty, "alpha of GNMT's penalty ((5 + length) / 6)^alpha (Wu et al. 2016); 0 = none");
    v("max_length_factor", max_length_factor, "a translation has at most factor * source tokens + extra tokens");
    v("max_length_extra", max_length_extra, "the extra tokens of max_length_factor");
    v("nbest", nbest, "translations per sentence, at most the beam size");
  }
};

struct RunConfig {
  DeviceChoice device = DeviceChoice::automatic;  // not saved, because a run may resume on a different device
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
