// trainer/plan/check_options.cpp: checks that options are in range, and that they do not contradict each other.
#include "trainer/plan/check_options.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "tensor/error.h"
#include "tensor/random.h"
#include "trainer/inference/search_config.h"
#include "trainer/plan/update_options.h"

namespace weft {
namespace {

template <typename T>
void require_at_least(T value, T least, const char* option) {
  if (!(value >= least)) fail(ErrorKind::usage, fmt::format("{} = {} must be at least {}", option, value, least));
}

void require_fraction(double value, const char* option) {
  if (!(value >= 0 && value < 1)) fail(ErrorKind::usage, fmt::format("{} = {} must be in [0, 1)", option, value));
}

// Rejects a second end, because one of them would be ignored.
void check_length(const TrainConfig& t) {
  require_at_least<int64_t>(t.tokens, 0, "train.tokens");
  const auto refuse = [](const char* a, const auto& its, const char* b, const auto& other) {
    fail(ErrorKind::usage,
         fmt::format(
             "train.{0} = {1} and train.{2} = {3} would both end the run: give only one of "
             "them{4}",
             a, its, b, other,
             std::string_view(a) != "steps" ? "" : fmt::format(" (--train.steps=0 leaves the end to train.{})", b)));
  };
  if (t.tokens > 0 && !t.epochs.empty()) refuse("tokens", t.tokens, "epochs", t.epochs);
  if (t.epochs.empty() && t.tokens == 0) return require_at_least<int64_t>(t.steps, 1, "train.steps");
  if (t.steps != 0 && t.tokens > 0) refuse("steps", t.steps, "tokens", t.tokens);
  if (t.steps != 0) refuse("steps", t.steps, "epochs", t.epochs);
}

bool is_inside(const std::string& path, const std::string& folder) {  // or the folder itself
  std::error_code none;
  const auto real = [&](const std::string& p) { return std::filesystem::weakly_canonical(p + "/.", none); };
  const auto from_folder = real(path).lexically_relative(real(folder));
  return !from_folder.empty() && *from_folder.begin() != "..";
}

void check_adapters(const RunConfig& c) {
  if (!c.model.lora.on()) return;
  require(!c.train.init.empty(), ErrorKind::usage,
          "lora.rank trains only adapters of an existing model: name its checkpoint or run with train.init");
  if (c.train.fresh && is_inside(c.train.init, c.train.output))
    fail(ErrorKind::usage, fmt::format("train.init = {} is in train.output, which train.fresh renames before adapters "
                                       "copy their model: give a different train.output",
                                       printable(c.train.init)));
  if (!c.train.freeze.empty())
    fail(ErrorKind::usage, fmt::format("train.freeze = {} has no effect with lora.rank = {}, which freezes all "
                                       "parameters but the adapters: leave it out",
                                       printable(c.train.freeze), c.model.lora.rank));
}

void check_consistency(const RunConfig& c) {
  const TrainConfig& t = c.train;
  require_at_least(t.consistency_weight, 0.0, "train.consistency_weight");
  require_fraction(t.consistency_rate, "train.consistency_rate");
  if (!(t.consistency_weight <= 1e6))
    fail(ErrorKind::usage, fmt::format("train.consistency_weight = {} must be at most 1e6", t.consistency_weight));
  if (t.consistency_rate > 0 && dropout_threshold(static_cast<float>(t.consistency_rate)) == 0)
    fail(ErrorKind::usage,
         fmt::format("train.consistency_rate = {} is less than 2^-17, so it cuts nothing", t.consistency_rate));
  if (t.consistency == Consistency::none && t.consistency_weight > 0)
    fail(ErrorKind::usage, fmt::format("train.consistency_weight = {} has no effect without train.consistency: set "
                                       "that to simcut or rdrop, or the weight to 0",
                                       t.consistency_weight));
  if (t.consistency != Consistency::simcut && t.consistency_rate > 0)
    fail(ErrorKind::usage, fmt::format("train.consistency_rate = {} applies only to train.consistency = simcut: set it "
                                       "to 0",
                                       t.consistency_rate));
  const ModelConfig& m = c.model;
  const std::array rates{m.dropout_embedding, m.dropout_residual, m.dropout_attention, m.dropout_feed_forward,
                         m.lora.dropout};
  const auto drops = [&](double rate) {
    return dropout_threshold(static_cast<float>(rate < 0 ? m.dropout : rate)) > 0;
  };
  if (t.consistency == Consistency::rdrop && std::ranges::none_of(rates, drops))
    fail(ErrorKind::usage,
         "train.consistency = rdrop compares passes with different dropout, but every rate of dropout "
         "is 0: set model.dropout");
}

void check_ranges(const RunConfig& c, const std::vector<Stage>& stages) {
  check_length(c.train);
  require_at_least(c.train.minutes, 0.0, "train.minutes");
  require_fraction(c.train.label_smoothing, "train.label_smoothing");
  check_adapters(c);
  check_consistency(c);
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
  check_schedules(c, stages);
  beam_options(c.decode);
}

// Rejects options that would have no effect, because a run that ignores an option may be useless to the user.
void check_validation_options(const RunConfig& c, const BestRule& best) {
  if (c.train.patience_from != PatienceFrom::last_stage && (c.train.patience == 0 || c.stages.empty()))
    fail(ErrorKind::usage,
         fmt::format("train.patience_from = {} has an effect only with train.patience and stages: set {}, or leave out "
                     "train.patience_from",
                     name_of_enum(c.train.patience_from), c.train.patience == 0 ? "train.patience" : "stage.NAME.mix"));
  if (c.train.validate_command.empty() && c.train.validate_command_minutes != TrainConfig().validate_command_minutes)
    fail(ErrorKind::usage,
         fmt::format("train.validate_command_minutes = {} applies only to train.validate_command: set both or neither",
                     c.train.validate_command_minutes));
  if (c.train.patience > 0 && !validates(c))
    fail(ErrorKind::usage, fmt::format("train.patience = {} needs validations: set data.valid and train.validate_every",
                                       c.train.patience));
  if (validates(c) && best.needs_translations() && c.train.validate_bleu == 0)
    fail(ErrorKind::usage, fmt::format("train.keep_best = {} needs translations: set train.validate_bleu, or "
                                       "train.keep_best = loss",
                                       c.train.keep_best));
  if (best.needs_score() && c.train.validate_command.empty())
    fail(ErrorKind::usage,
         fmt::format("train.keep_best = {} needs a score: set train.validate_command", c.train.keep_best));
  if (!c.train.validate_command.empty() && !translates(c))
    fail(ErrorKind::usage,
         "train.validate_command needs translations: set data.valid, train.validate_every and train.validate_bleu");
  if (translates(c)) require_tokenizer(c.train.bleu_tokenize);
}

void check_rollback(const RunConfig& c) {
  if (c.train.on_divergence == OnDivergence::rollback && c.train.save_every == 0 && c.train.save_minutes == 0)
    fail(ErrorKind::usage,
         "train.on_divergence = rollback needs checkpoints: set train.save_every or train.save_minutes");
}

}  // namespace

void check_options(const RunConfig& c, const std::vector<Stage>& stages, const BestRule& best) {
  check_ranges(c, stages);
  check_validation_options(c, best);
  check_rollback(c);
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

void require_gpu_to_tune(const RunConfig& config, Device device) {
  require(!config.train.tune_gemm || device == Device::cuda, ErrorKind::usage,
          "train.tune_gemm times matrix products on GPUs, but this run uses CPUs: leave out train.tune_gemm");
}

}  // namespace weft
