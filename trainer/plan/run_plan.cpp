// trainer/plan/run_plan.cpp: resolves a configuration for data and ranks; prints the one-screen plan.
#include "trainer/plan/run_plan.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "data/atomic_file.h"
#include "data/corpus.h"
#include "parallel/device_mesh.h"
#include "tensor/context.h"
#include "tensor/error.h"
#include "trainer/config/config_text.h"
#include "trainer/inference/translator.h"
#include "trainer/plan/data_plan.h"
#include "trainer/plan/stop_notice.h"
#include "trainer/plan/update_options.h"
#include "trainer/precision.h"
#include "trainer/report/units.h"
#include "trainer/stages/stages.h"
#include "trainer/validation/validation_sets.h"

namespace weft {
namespace {

template <typename T>
void require_at_least(T value, T least, const char* option) {
  if (!(value >= least)) fail(ErrorKind::usage, fmt::format("{} = {} must be at least {}", option, value, least));
}

void require_fraction(double value, const char* option) {
  if (!(value >= 0 && value < 1)) fail(ErrorKind::usage, fmt::format("{} = {} must be in [0, 1)", option, value));
}

void check_ranges(const RunConfig& c) {
  require_at_least<int64_t>(c.train.steps, 1, "train.steps");
  require_at_least(c.train.minutes, 0.0, "train.minutes");
  require_fraction(c.train.label_smoothing, "train.label_smoothing");
  require_at_least<int64_t>(c.train.validate_every, 0, "train.validate_every");
  require_at_least<int64_t>(c.train.save_every, 0, "train.save_every");
  require_at_least<int64_t>(c.train.log_every, 1, "train.log_every");
  require_at_least<int64_t>(c.train.validate_bleu, -1, "train.validate_bleu");
  require_at_least<int64_t>(c.train.samples, 0, "train.samples");
  require_at_least(c.train.peak_flops, 0.0, "train.peak_flops");
  require_at_least(c.train.memory_bandwidth, 0.0, "train.memory_bandwidth");
  require_at_least<int64_t>(c.train.keep_last, 1, "train.keep_last");
  require_at_least<int64_t>(c.train.keep_every, 0, "train.keep_every");
  require_at_least<int64_t>(c.train.keep_best_checkpoints, 1, "train.keep_best_checkpoints");
  require_at_least(c.train.save_minutes, 0.0, "train.save_minutes");
  require_at_least<int64_t>(c.train.check_replicas, 0, "train.check_replicas");
  require_at_least<int64_t>(c.train.patience, 0, "train.patience");
  if (!(c.train.validate_command_minutes > 0))
    fail(ErrorKind::usage,
         fmt::format("train.validate_command_minutes = {} must be above 0", c.train.validate_command_minutes));
  if (!(c.train.divergence_rise > 0))
    fail(ErrorKind::usage, fmt::format("train.divergence_rise = {} must be above 0", c.train.divergence_rise));
  require_fraction(c.train.ema, "train.ema");
  require_fraction(c.optimizer.beta1, "optimizer.beta1");
  require_fraction(c.optimizer.beta2, "optimizer.beta2");
  require_at_least(c.optimizer.eps, 0.0, "optimizer.eps");
  require_at_least(c.optimizer.weight_decay, 0.0, "optimizer.weight_decay");
  require_at_least(c.optimizer.clip_norm, 0.0, "optimizer.clip_norm");
  check_optimizer(c);
  check_schedules(c);
  beam_options(c.decode);
}

bool validates(const RunConfig& c) { return !c.data.valid.empty() && c.train.validate_every > 0; }

// Refuses options that would have no effect: ignoring them would cost the user a run.
void check_validation_options(const RunConfig& c) {
  if (c.train.patience_from != PatienceFrom::last_stage && (c.train.patience == 0 || c.stages.empty()))
    fail(ErrorKind::usage,
         fmt::format("train.patience_from = {} is of validations that train.patience counts in a run "
                     "with stages: set {}, or leave it out",
                     name_of_enum(c.train.patience_from), c.train.patience == 0 ? "train.patience" : "stage.NAME.mix"));
  if (c.train.validate_command.empty() && c.train.validate_command_minutes != TrainConfig().validate_command_minutes)
    fail(ErrorKind::usage,
         fmt::format("train.validate_command_minutes = {} is of train.validate_command: set that, or leave this out",
                     c.train.validate_command_minutes));
  if (c.train.patience > 0 && !validates(c))
    fail(ErrorKind::usage, fmt::format("train.patience = {} needs validations: set data.valid and train.validate_every",
                                       c.train.patience));
  const BestRule rule(c.train.keep_best, validation_sets(c.data.valid));
  if (validates(c) && rule.needs_translations() && c.train.validate_bleu == 0)
    fail(ErrorKind::usage, fmt::format("train.keep_best = {} needs translations: set train.validate_bleu, or "
                                       "train.keep_best = loss",
                                       c.train.keep_best));
  if (rule.needs_score() && c.train.validate_command.empty())
    fail(ErrorKind::usage,
         fmt::format("train.keep_best = {} needs a score: set train.validate_command", c.train.keep_best));
  if (!c.train.validate_command.empty() && (!validates(c) || c.train.validate_bleu == 0))
    fail(ErrorKind::usage,
         "train.validate_command needs translations: set data.valid, train.validate_every and "
         "train.validate_bleu");
}

void check_rollback(const RunConfig& c) {
  if (c.train.on_divergence == OnDivergence::rollback && c.train.save_every == 0 && c.train.save_minutes == 0)
    fail(ErrorKind::usage,
         "train.on_divergence = rollback needs checkpoints to go back to: set train.save_every or train.save_minutes");
}

void match_vocabulary(int64_t& wanted, int64_t packed, const char* option, const std::string& folder) {
  if (wanted == 0) wanted = packed;
  if (wanted != packed)
    fail(ErrorKind::usage,
         fmt::format("{} = {}, but {} was packed with {} entries: leave the option at 0, or pack again", option, wanted,
                     folder, packed));
}

// Of the run that this one resumes: its blocks keep their shape, whatever its data is now.
std::optional<int64_t> source_rows_of_run(const RunConfig& c) {
  const std::string latest = c.train.output + "/checkpoints/latest";
  if (c.train.fresh || !std::filesystem::exists(latest + "/config.cfg")) return std::nullopt;
  return kept_config(latest).batch.source_rows;
}

void match_validation(const Manifest& train, const RunConfig& c, const ValidationSet& set) {
  const std::string option = set.name.empty() ? "data.valid" : fmt::format("data.valid, set {}", set.name);
  const std::string& folder = set.folder;
  const Manifest valid = manifest_of(option, c.data.valid, folder);
  if (valid.variants.count > 0)
    fail(ErrorKind::usage,
         fmt::format("{}: {} has {} variants of each pair, and a held-out set must have one text: pack it without "
                     "--variants",
                     option, folder, valid.variants.count));
  if (valid.source_tokenizer_sha256 == train.source_tokenizer_sha256 &&
      valid.target_tokenizer_sha256 == train.target_tokenizer_sha256)
    return;
  const std::string corpus = training_folders(c).front();
  fail(ErrorKind::usage,
       fmt::format("{}: {} was packed with another tokenizer than {} of the training data: pack it again with "
                   "--tokenizer {}/{}",
                   option, folder, corpus, corpus, train.source_tokenizer));
}

// The rows of the longest sentence that a block will hold: pairs longer than a block are left out.
int64_t longest_used(Corpus& corpus, const BatchConfig& batch) {
  constexpr int64_t kChunk = 65536;
  int64_t longest = 0;
  std::vector<PairLength> lengths;
  for (int64_t variant = 0; variant < corpus.manifest().num_variants(); ++variant)
    for (int64_t first = 0; first < corpus.num_pairs(); first += kChunk) {
      corpus.read_lengths(first, std::min(kChunk, corpus.num_pairs() - first), lengths, variant);
      for (const PairLength& p : lengths)
        if (p.source < batch.source_rows && p.target < batch.rows)
          longest = std::max<int64_t>(longest, std::max(p.source, p.target) + 1);
    }
  return longest;
}

// Tables of learned positions are finite.
void require_positions(Corpus& corpus, const std::string& folder, const RunConfig& c) {
  const Manifest& data = corpus.manifest();
  if (c.model.positions != Positions::learned) return;
  if (std::max(data.longest_source, data.longest_target) < c.model.max_positions) return;
  if (const int64_t longest = longest_used(corpus, c.batch); longest > c.model.max_positions)
    fail(ErrorKind::usage,
         fmt::format("{} has sentences of {} tokens, eos included, but model.max_positions = {}: raise it, or pack "
                     "again with --max-length {}",
                     folder, longest, c.model.max_positions, c.model.max_positions - 1));
}

void require_at_most(int64_t value, int64_t most, const char* option) {
  if (value > most) fail(ErrorKind::usage, fmt::format("{} = {} must be at most {}", option, value, most));
}

// Far above any use, and low enough that products do not overflow.
constexpr int64_t kMostRows = 1 << 20, kMostBlocksOfAStep = 1 << 16, kMostPairs = 1 << 30;

void resolve_blocks(RunConfig& c) {
  require_at_least<int64_t>(c.batch.rows, 2, "batch.rows");
  require_at_least<int64_t>(c.batch.tokens, 0, "batch.tokens");
  require_at_most(c.batch.tokens, kMostRows * kMostBlocksOfAStep, "batch.tokens");
  c.batch.blocks = c.batch.blocks_of_step();
  require_at_least<int64_t>(c.batch.source_rows, 2, "batch.source_rows");
  require_at_least<int64_t>(c.batch.blocks, 1, "batch.blocks");
  require_at_least<int64_t>(c.batch.look_ahead, 1, "batch.look_ahead");
  require_at_least<int64_t>(c.batch.page, 1, "batch.page");
  require_at_least<int64_t>(c.batch.window, 1, "batch.window");
  require_at_most(c.batch.rows, kMostRows, "batch.rows");
  require_at_most(c.batch.source_rows, kMostRows, "batch.source_rows");
  require_at_most(c.batch.blocks, kMostBlocksOfAStep, "batch.blocks");
  require_at_most(c.batch.look_ahead, kMostPairs, "batch.look_ahead");
  require_at_most(c.batch.page, kMostPairs, "batch.page");
  require_at_most(c.batch.window, kMostPairs, "batch.window");
}

// Ranks that wait in every step because others have a block more.
std::string describe_idle_ranks(const RunConfig& c) {
  const int64_t dp = c.parallel.dp, most = (c.batch.blocks + dp - 1) / dp, without = most * dp - c.batch.blocks;
  if (without == 0) return "";
  return fmt::format(
      "{} of {} data-parallel ranks have {} while the others have {}: {:.0f} % of the ranks' time is used", without, dp,
      most == 1 ? "no block" : fmt::format("{} block{}", most - 1, most == 2 ? "" : "s"), most,
      100.0 * static_cast<double>(c.batch.blocks) / static_cast<double>(most * dp));
}

// Of several: the plan says what their names stand for.
std::string describe_validation_sets(const RunConfig& c) {
  std::string text;
  for (const ValidationSet& set : validation_sets(c.data.valid))
    if (!set.name.empty())
      text += fmt::format("{}{} = {}{}: {} pairs", text.empty() ? "" : "; ", set.name, set.folder,
                          set.noise == TextNoise::none ? "" : fmt::format(" ({})", name_of_enum(set.noise)),
                          Corpus(set.folder).num_pairs());
  return text;
}

std::string describe_gpus(const RunConfig& c, const RankDevice& own) {
  const DeviceProperties gpu = device_properties(own.device);
  const bool alone = own.num_sharing == 1;
  std::string text =
      fmt::format("{} ({}){}", gpu.name, gpu.version,
                  alone ? ", one for each rank" : fmt::format(", up to {} ranks on one", own.num_sharing));
  if (!stages(own, c.parallel.communication) || c.parallel.dp * c.parallel.tp == 1) return text;
  text += ", all-reduces through the hosts' memory";
  if (c.parallel.communication == Communication::automatic && !own.without_nccl.empty())
    text += fmt::format(" ({})", own.without_nccl);
  return text;
}

std::string describe_model(const ModelConfig& c) {
  const std::string shared = c.num_kv_heads() == c.heads ? "" : fmt::format(" on {} of keys and values", c.kv_heads);
  const std::string norm_kind =
      c.norm_kind == ModelConfig().norm_kind ? "" : fmt::format(" ({})", name_of_enum(c.norm_kind));
  return fmt::format("width {}, {} heads{}, feed-forward {} ({}), {} + {} layers, {}-norm{}{}, vocabulary {} / {}",
                     c.width, c.heads, shared, c.feed_forward, name_of_enum(c.activation), c.encoder_layers,
                     c.decoder_layers, name_of_enum(c.norm), norm_kind,
                     is_rotary(c.positions) ? ", rotary positions" : "", c.source_vocabulary, c.target_vocabulary);
}

}  // namespace

RunConfig resolve(RunConfig c, int ranks) {
  if (!has_data(c))
    fail(ErrorKind::usage,
         "no training data: set data.train, or the mix of a stage (stage.NAME.mix), to a folder that `weft pack` made");
  if (c.train.output.empty()) fail(ErrorKind::usage, "train.output is not set: give a folder for the run");
  check_ranges(c);
  check_validation_options(c);
  check_rollback(c);
  const std::vector<std::string> folders = training_folders(c);
  require_fit_corpora(c);
  const Manifest data = read_manifest(folders.front());
  match_vocabulary(c.model.source_vocabulary, data.source_vocabulary, "model.source_vocabulary", folders.front());
  match_vocabulary(c.model.target_vocabulary, data.target_vocabulary, "model.target_vocabulary", folders.front());
  if (c.model.tying == Tying::all && !data.joint_vocabulary)
    fail(ErrorKind::usage,
         fmt::format("model.tying = all needs one joint vocabulary, but {} was packed with separate ones: use "
                     "model.tying = output, or pack without --separate-vocabularies",
                     folders.front()));
  for (const ValidationSet& set : validation_sets(c.data.valid)) match_validation(data, c, set);
  c.parallel = resolve_grid(c.parallel, ranks);
  c.model.resolve(c.parallel.tp);
  if (c.batch.source_rows == 0) c.batch.source_rows = source_rows_of_run(c).value_or(source_rows_of_data(c));
  resolve_blocks(c);
  require_even_rows(c);
  require_pairs(c);
  for (const std::string& folder : folders) {
    Corpus corpus(folder);
    require_positions(corpus, folder, c);
  }
  for (const ValidationSet& set : validation_sets(c.data.valid)) {
    Corpus valid(set.folder);
    require_positions(valid, set.folder, c);
  }
  return c;
}

bool splits_evenly(const RunConfig& c) {
  return !c.parallel.sequence || (c.batch.rows % c.parallel.tp == 0 && c.batch.source_rows % c.parallel.tp == 0);
}

void require_even_rows(const RunConfig& c) {
  if (splits_evenly(c)) return;
  fail(ErrorKind::usage,
       fmt::format("parallel.sequence splits rows, but parallel.tp = {} does not divide both batch.rows = {} and "
                   "batch.source_rows = {}: use multiples of {}, or leave out parallel.sequence",
                   c.parallel.tp, c.batch.rows, c.batch.source_rows, c.parallel.tp));
}

int64_t vocabulary_numel(const ParamStore& params) {
  int64_t n = 0;
  for (const Param& p : params.params())
    if (p.spec.pad && p.spec.shape.rank() == 2) n += p.spec.shape.numel();
  return n;
}

std::string describe_plan(const RunConfig& c, const ParamStore& params, const MemoryPlan& memory, const RankDevice& own,
                          const PlacementReport& placement) {
  int64_t longest_source = 0, longest_target = 0;
  for (const std::string& folder : training_folders(c)) {
    const Manifest data = read_manifest(folder);
    longest_source = std::max(longest_source, data.longest_source);
    longest_target = std::max(longest_target, data.longest_target);
  }
  const int64_t all = params.global_numel(), tables = vocabulary_numel(params);
  const double step_tokens = static_cast<double>(c.batch.rows * c.batch.blocks);
  std::string s;
  const auto row = [&](const char* name, const std::string& text) { s += fmt::format("  {:<12} {}\n", name, text); };
  row("model", describe_model(c.model));
  row("parameters", fmt::format("{} ({} without vocabulary tables)", format_count(static_cast<double>(all)),
                                format_count(static_cast<double>(all - tables))));
  row("grid", fmt::format("dp {} x tp {} = {} rank{}, {} thread{} each, {}", c.parallel.dp, c.parallel.tp,
                          c.parallel.dp * c.parallel.tp, c.parallel.dp * c.parallel.tp == 1 ? "" : "s", num_threads(),
                          num_threads() == 1 ? "" : "s", cpu_description()));
  if (own.device == Device::cuda) row("device", describe_gpus(c, own));
  if (!own.remark.empty()) row("device", "CPUs: " + own.remark);
  if (!placement.placement.empty()) row("placement", placement.placement);
  if (!placement.network.empty()) row("network", placement.network);
  for (const std::string& warning : placement.warnings) row("warning", warning);
  const char* const storage = name_of(storage_of(c.train.precision));
  row("precision", fmt::format("{}{}", storage,
                               params.mixed() ? " activations and matmuls; weights, gradients, moments and sums in f32"
                                              : " throughout"));
  for (const auto& [name, text] : describe_data(c)) row(name.c_str(), text);
  if (const std::string sets = describe_validation_sets(c); !sets.empty()) row("validation", sets);
  row("block", fmt::format("{} source x {} target rows; longest pair {} x {} tokens{}", c.batch.source_rows,
                           c.batch.rows, longest_source, longest_target,
                           longest_source < c.batch.source_rows && longest_target < c.batch.rows
                               ? ""
                               : ", and what does not fit is left out"));
  row("step",
      fmt::format("{} block{}, {:.0f} target rows{}{}", c.batch.blocks, c.batch.blocks == 1 ? "" : "s", step_tokens,
                  c.batch.tokens > 0 ? fmt::format(" for batch.tokens = {}", c.batch.tokens) : "", describe_epoch(c)));
  if (const std::string idle = describe_idle_ranks(c); !idle.empty()) row("", idle);
  row("schedule", fmt::format("{} steps{}, {}", c.train.steps,
                              c.train.minutes > 0 ? fmt::format(" or {} minutes", c.train.minutes) : "",
                              describe_schedule(c.schedule, c.train.steps)));
  if (const std::string text = describe_fall_by_steps(c); !text.empty()) row("", text);
  if (const std::string text = describe_optimizer(c); !text.empty()) row("optimizer", text);
  if (const std::string options = describe_options_without_effect(c); !options.empty())
    row("no effect", options + ": of another kind of schedule or optimizer");
  if (!validates(c) && (c.train.keep_best != TrainConfig().keep_best || c.train.keep_best_checkpoints != 1))
    row("no effect", "what is kept as best: the run has no validations (data.valid, train.validate_every)");
  row("memory", describe(memory, storage));
  if (c.parallel.zero > 0 && c.parallel.dp > 1)
    row("", fmt::format("{} less a rank: moments{} divided over dp: parallel.zero", format_bytes(memory.less_by_shards),
                        params.mixed() ? " and f32 weights" : ""));
  if (c.parallel.gradient_type != GradientType::f32 && c.parallel.dp > 1)
    row("", fmt::format("gradients between ranks in {}, 2 bytes more for each parameter: parallel.gradient_type",
                        name_of_enum(c.parallel.gradient_type)));
  if (c.parallel.sequence && c.parallel.tp > 1)
    row("", fmt::format("activations between tensor-parallel layers: 1/{} of the rows each: parallel.sequence",
                        c.parallel.tp));
  if (c.train.recompute) row("", "activations of one block at a time: train.recompute");
  if (c.train.cuda_graph == CudaGraph::on) row("", "a block's work is replayed as a CUDA graph: train.cuda_graph");
  if (c.train.tune_gemm) row("", "matrix products are timed before the first step: train.tune_gemm");
  row("output", c.train.output);
  if (const std::string notice = stop_notice(); !notice.empty()) row("signals", notice);
  return s;
}

}  // namespace weft
