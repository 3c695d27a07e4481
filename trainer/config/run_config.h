// trainer/config/run_config.h: defines the options of a run, grouped in sections.
//
// Each struct is declared next to the code that uses it. Its function `fields(v)` lists the name, member and help text
// of each option for the command line, .cfg files, --help and the saved configuration (trainer/config/config_text.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch_config.h"
#include "data/text/split.h"
#include "model/config.h"
#include "model/decoding/beam.h"
#include "model/loss_options.h"
#include "model/parameters/frozen_names.h"
#include "parallel/mesh.h"
#include "parallel/placement/rank_device.h"
#include "trainer/metrics/bleu.h"
#include "trainer/optimizer/optimizer.h"
#include "trainer/optimizer/schedule.h"

namespace weft {

struct DataConfig {
  std::string train, valid, min_score;
  template <typename V>
  void fields(V& v) {
    v("train", train,
      "training data: a folder written by `weft pack`, or several folders with weights, for example a:3,b:1; empty = "
      "each stage has its own data (stage.NAME.mix)");
    v("min_score", min_score,
      "use only pairs of data.train with at least this score: a number for all folders, or FOLDER:NUMBER,... for some "
      "folders; empty = all pairs; for stages, use stage.NAME.min_score");
    v("valid", valid,
      "validation data, packed with the tokenizer of the training data: a folder, or several folders as "
      "NAME=FOLDER,NAME=FOLDER,...; empty = no validation");
  }
};

// A stage of the training, with a name that the user chooses (docs/stages.md). Stages run in the order in which the
// configuration first mentions them.
struct StageConfig {
  std::string name;
  std::string mix, epochs, min_score;
  int64_t steps = 0, tokens = 0;
  bool has_schedule = false;  // true if any option of the schedule is given
  ScheduleConfig schedule;

  template <typename V>
  void fields(V& v) {
    v("mix", mix, "data of the stage: a folder from `weft pack`, or several folders with weights, for example a:3,b:1");
    v("min_score", min_score,
      "use only pairs with at least this score: a number for all folders of the mix, or FOLDER:NUMBER,... for some "
      "folders; empty = all pairs");
    v("steps", steps, "end the stage after this many steps; 0 = no limit (every stage but the last needs a limit)",
      OnResume::ends_stage);
    v("tokens", tokens, "end the stage once it has trained on this many target tokens; 0 = no limit",
      OnResume::ends_stage);
    v("epochs", epochs,
      "end the stage after N epochs of its folder; for several folders FOLDER:N = N epochs of this folder; empty = no "
      "limit",
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

// Decides whether steps are replayed as CUDA graphs (trainer/step/step_graphs.h). `automatic`: if they can be recorded.
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
  Consistency consistency = Consistency::none;
  double consistency_weight = 0, consistency_rate = 0;
  std::string epochs, output, init, freeze;
  int64_t tokens = 0;
  int64_t validate_every = 1000, save_every = 1000, log_every = 10;
  int64_t validate_bleu = 500;
  BleuTokenizer bleu_tokenize = BleuTokenizer::automatic;
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

  LossOptions loss_options() const {  // with the papers' values for a weight and a rate of 0
    const bool cuts = consistency == Consistency::simcut;
    const double weight = consistency_weight > 0 ? consistency_weight : cuts ? 3 : 5;
    return {label_smoothing, consistency, weight, cuts ? (consistency_rate > 0 ? consistency_rate : 0.05) : 0};
  }

  template <typename V>
  void fields(V& v) {
    v("steps", steps, "total number of optimizer steps");
    v("epochs", epochs,
      "end the run after N epochs of data.train, instead of after train.steps; for several folders FOLDER:N = N epochs "
      "of this folder; empty = train.steps ends the run");
    v("tokens", tokens,
      "end the run with the step that reaches this many target tokens, instead of after train.steps; 0 = train.steps "
      "ends the run");
    v("minutes", minutes,
      "validate, save and stop after this many minutes of training; a rate that decays until the last step then decays "
      "by the clock; 0 = no limit");
    v("seed", seed, "seed of the initial weights, the order of the training pairs, and dropout", OnResume::order);
    v("label_smoothing", label_smoothing,
      "label smoothing e: the correct token gets probability 1 - e, and all other vocabulary entries share e equally",
      OnResume::retrains);
    v("consistency", consistency,
      "train on each block twice, and add the divergence between both predictions to the loss, which helps if there is "
      "little text: simcut (the second pass lacks some tokens), rdrop (it has other dropout masks), or none",
      OnResume::retrains);
    v("consistency_weight", consistency_weight, "weight of the divergence in the loss; 0 = 3 for simcut, 5 for rdrop",
      OnResume::retrains);
    v("consistency_rate", consistency_rate, "simcut: share of the tokens that the second pass lacks; 0 = 0.05",
      OnResume::retrains);
    v("output", output,
      "folder for the run's config, log and checkpoints; a run that is already in this folder resumes");
    v("init", init, "checkpoint or run folder from which a new run takes its initial weights; empty = random weights",
      OnResume::has_no_effect);
    v("freeze", freeze,
      "names of parameters that keep their initial values, separated by commas, for fine-tuning; * stands for any "
      "characters, as in embedding.*,encoder.* (`weft inspect model` lists the names); frozen parameters need no "
      "gradients and optimizer state",
      OnResume::optimizer);
    v("validate_every", validate_every, "steps between validations; 0 = never");
    v("save_every", save_every, "steps between checkpoints; 0 = save only at the end");
    v("save_minutes", save_minutes, "also save after every N minutes of training; 0 = only every save_every steps");
    v("log_every", log_every, "steps between printed progress lines if the output is not a terminal");
    v("validate_bleu", validate_bleu,
      "number of sentences of each validation set to translate for BLEU and chrF; 0 = none, -1 = all");
    v("bleu_tokenize", bleu_tokenize, kTokenizerHelp);
    v("validate_command", validate_command,
      "shell command that scores the translations of each validation set while training continues; it reads the files "
      "$WEFT_SOURCE, $WEFT_HYPOTHESIS and $WEFT_REFERENCE, and prints the score as its last word; empty = none");
    v("validate_command_minutes", validate_command_minutes, "time limit of validate_command for each set, in minutes");
    v("samples", samples,
      "write the translations of each validation set's first N sentences to log.jsonl; at most validate_bleu");
    v("tensorboard", tensorboard,
      "write metrics, sample translations and attention for TensorBoard to the folder tensorboard/ of the run");
    v("peak_flops", peak_flops,
      "peak FLOP/s of one rank, to compute mfu; 0 = measured (on CPUs) or from data sheets (for A100, H100, H200)");
    v("memory_bandwidth", memory_bandwidth,
      "memory bandwidth of one rank in bytes/s, to compute the log's roofline (minimum step time / actual step time); "
      "0 = measured or from data sheets, as for peak_flops");
    v("keep_last", keep_last, "number of newest checkpoints to keep, in addition to the best ones");
    v("keep_every", keep_every, "also keep every checkpoint whose step is a multiple of this number; 0 = none");
    v("check_replicas", check_replicas,
      "steps between checks that replicated parameters and moments are equal on all ranks; 0 = never");
    v("keep_best", keep_best,
      "metric that selects the best checkpoint: loss, bleu, chrf, or score (from validate_command); the metric is from "
      "the first validation set, unless you name a set (dev.bleu) or a weighted sum (0.5*dev.bleu+0.5*news.bleu)");
    v("keep_best_checkpoints", keep_best_checkpoints,
      "number of best checkpoints to keep (see train.keep_best), for example for `weft average --best`");
    v("precision", precision,
      "precision of activations and matmuls: f32, bf16, f16, or auto (bf16 if every rank's device has bf16 "
      "instructions, else f32); weights, gradients, moments and sums stay in f32; see also parallel.gradient_type");
    v("ema", ema,
      "decay of the exponential moving average of the weights, for example 0.999 for about the last 1,000 steps; "
      "validation and translation use the average, and checkpoints contain both; 0 = no average");
    v("recompute", recompute,
      "store only each layer's input, and repeat the layer's forward pass before its backward pass; this needs far "
      "less memory for activations but about a third more computation, with the same results");
    v("cuda_graph", cuda_graph,
      "record the GPU work of a block once, then replay it as a CUDA graph, which saves kernel launches: true, false, "
      "or auto (true on GPUs, unless ranks communicate through host memory)");
    v("tune_gemm", tune_gemm,
      "on GPUs, measure before the first step which algorithm is fastest for each matrix product and whether to fuse "
      "its epilogue; the choices are saved in the run's folder and may change the last bits of results");
    v("patience", patience, "stop the run after this many validations without improvement; 0 = never");
    v("patience_from", patience_from,
      "validations that patience counts: last_stage = only those in the last stage, start = all since the start");
    v("on_divergence", on_divergence,
      "what to do if the run diverges: stop; rollback = continue on new data with the parameters of the last good "
      "checkpoint; ignore = continue if the loss rises (gradients that stay non-finite still stop the run)");
    v("divergence_rise", divergence_rise,
      "max rise of the loss above its lowest mean, in nats per target token; if 20 steps in a row exceed it, the run "
      "has diverged");
    v("fresh", fresh, "start over even if train.output contains a run, whose checkpoints and log are first moved aside",
      OnResume::this_start);
    v("allow_changes", allow_changes,
      "resume even if options that affect the training have new values: batch.blocks, dropout, label smoothing, "
      "schedule, optimizer (except optimizer.kind)",
      OnResume::this_start);
  }
};

inline constexpr const char* kBeamKindHelp =
    "shrinking: finished hypotheses keep their place, as in Marian; fixed: they leave it to others, as in "
    "transformers; first: as fixed, but the search ends when `beam` are finished, as in fairseq";
inline constexpr const char* kLengthPenaltyHelp =
    "by which a log probability is divided: gnmt = ((5 + length) / 6)^alpha; power = length^alpha, as in Marian, "
    "fairseq, transformers and CTranslate2";

struct DecodeConfig {
  int64_t beam = 5;
  BeamKind beam_kind = BeamKind::shrinking;
  double length_penalty = 0.6;
  LengthPenalty length_penalty_kind = LengthPenalty::gnmt;
  double max_length_factor = 2.0;
  int64_t max_length_extra = 10;
  int64_t min_length = 1;
  bool allow_unknown = false;
  int64_t nbest = 1;

  template <typename V>
  void fields(V& v) {
    v("beam", beam, "beam size, the number of hypotheses kept per sentence; 1 = greedy");
    v("beam_kind", beam_kind, kBeamKindHelp);
    v("length_penalty", length_penalty, "alpha of the length penalty; 0 = none");
    v("length_penalty_kind", length_penalty_kind, kLengthPenaltyHelp);
    v("max_length_factor", max_length_factor,
      "max tokens of a translation: factor * source tokens + max_length_extra, or min_length if that is more");
    v("max_length_extra", max_length_extra, "number of tokens added to max_length_factor * source tokens");
    v("min_length", min_length, "min tokens of a translation, without tags and eos; empty lines stay empty");
    v("allow_unknown", allow_unknown, "allow the unknown token in translations");
    v("nbest", nbest, "number of translations per sentence, at most the beam size");
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
    v("lora", model.lora);
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

// Returns what does not train: the parameters of train.freeze or, with adapters, all others.
inline FrozenNames frozen_names(const RunConfig& c) {
  return FrozenNames(c.model.lora.on() ? std::vector<std::string>{"*"} : split_at_commas(c.train.freeze));
}

inline bool validates(const RunConfig& c) { return !c.data.valid.empty() && c.train.validate_every > 0; }
inline bool translates(const RunConfig& c) { return validates(c) && c.train.validate_bleu != 0; }

}  // namespace weft
