// trainer/run/run_log.cpp: reports steps, epochs and validations in log records and on the screen.
#include "trainer/run/run_log.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "data/atomic_file.h"
#include "trainer/version.h"

namespace weft {
namespace {

double now() {  // Unix time in seconds, to the millisecond
  using namespace std::chrono;
  return static_cast<double>(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count()) / 1000;
}

double to_four_digits(double share) { return std::round(1e4 * share) / 1e4; }

nlohmann::ordered_json to_json(const SampleAttention& a) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t t = 0; t < a.target.size(); ++t) {
    rows.push_back(nlohmann::ordered_json::array());
    for (size_t s = 0; s < a.source.size(); ++s)
      rows.back().push_back(std::round(1e3 * static_cast<double>(a.weights[t * a.source.size() + s])) / 1e3);
  }
  return {{"sample", a.sample}, {"source", a.source}, {"target", a.target}, {"weights", std::move(rows)}};
}

void add_numbers(const SetReport& set, const std::string& name, nlohmann::ordered_json& record) {
  for (const ValidationMetric& metric : kValidationMetrics)
    if (const auto found = set.values.find(metric.key); found != set.values.end())
      record[validation_key(name, metric.key)] = found->second;
  if (!set.bleu_signature.empty()) record[validation_key(name, kBleuSignature)] = set.bleu_signature;
}

std::string words_of_set(const SetReport& set) {
  std::vector<std::string> words;
  for (const ValidationMetric& metric : kValidationMetrics)
    if (const auto found = set.values.find(metric.key); metric.in_lines && found != set.values.end())
      words.push_back(worded(metric, found->second, set.bleu_signature));
  return fmt::format("{}{}{}", set.name, set.name.empty() ? "" : ": ", fmt::join(words, ", "));
}

// Returns NaN, which the log stores as null, if the step has no pair of the corpus with a weight above 0.
double mean_nll(const CorpusTotals& corpus) { return corpus.nll / corpus.target_weight; }

std::unique_ptr<TensorBoardLog> open_tensorboard(const std::string& folder, const std::string& config) {
  try {
    return std::make_unique<TensorBoardLog>(folder, config);
  } catch (const Error& e) {
    fail(e.kind(), fmt::format("{}; use --train.tensorboard=false to train without event files", e.what()));
  }
}

}  // namespace

RunSoFar so_far(const TrainingData& data, double seconds, int64_t train_steps) {
  return {.seconds = seconds,
          .dropped = data.dropped(),
          .below_score = data.below_score(),
          .last_step = data.stages().last_step(train_steps),
          .stages_end = data.stages().expected_end(),
          .folders = data.stages().folders()};
}

RunLog::RunLog(const RunConfig& config, std::vector<Stage> stages, const Mesh& mesh, OtherPrograms* others)
    : config_(config),
      mesh_(mesh),
      stages_(std::move(stages)),
      has_corpora_(training_folders(stages_).size() > 1),
      hosts_(mesh.world().all_gather_strings(host_name())),
      progress_(ProgressOutput::standard(/*quiet=*/!mesh.world().is_main_rank())),
      stragglers_(hosts_),
      others_(others) {}

void RunLog::open(const RunFolder& folder, const std::string& plan, const std::string& config,
                  const TrainState& state) {
  std::vector<int64_t> unscored;
  for (const ScoreDue& due : state.scores_due) unscored.push_back(due.step);
  events_.emplace(folder.log(), state.step, state.validation_due, unscored);
  start_ = start_record(state.step, plan);
  if (!config_.train.tensorboard) return;
  tensorboard_ = open_tensorboard(folder.tensorboard(), config);
  for_each_record(folder.log(), [&](const nlohmann::json& record) { tensorboard_->write(record); });
  report_events(tensorboard_->write_kept());
}

nlohmann::ordered_json RunLog::start_record(int64_t step, const std::string& plan) const {
  return {{"step", step},
          {"schema", kLogSchema},
          {"weft", kVersion},
          {"dp", mesh_.dp().size()},
          {"tp", mesh_.tp().size()},
          {"device", mesh_.device() == Device::cuda ? "cuda" : "cpu"},
          {"hosts", hosts_},
          {"plan", plan}};
}

void RunLog::write(nlohmann::ordered_json record) {
  if (!events_) return;
  record["time"] = now();
  if (!start_.is_null()) {
    start_["time"] = record["time"];
    events_->keep(start_);
    if (tensorboard_) tensorboard_->write(start_);
    start_ = nullptr;
  }
  const bool written = events_->write(record);
  if (is_written_ && !written)
    message("NOT LOGGED: log.jsonl cannot be written; records are kept in memory until writing works again");
  is_written_ = written;
  if (tensorboard_) report_events(tensorboard_->write(record));
}

void RunLog::report_events(bool written) {
  if (has_events_ && !written)
    message(
        "NO EVENTS: tensorboard/ cannot be written; events are kept in memory until writing works again, "
        "and the next start writes missing events from log.jsonl");
  has_events_ = written;
}

void RunLog::flush() {
  if (events_) events_->flush();
  if (tensorboard_) report_events(tensorboard_->write_kept());
}

void RunLog::step(const StepReport& r, const RunSoFar& run) {
  throughput_.add(r.seconds, r.totals.source_tokens, r.totals.target_tokens, r.totals.flops);
  check_limits(r);
  write(step_record(r, run));
  TrainStatus status = status_of(r, run);
  const bool is_due = r.step % std::max<int64_t>(config_.train.log_every, 1) == 0 || r.step == run.last_step;
  progress_.show(status.fraction, is_due, [&](size_t width) {
    if (others_ != nullptr) status.others = describe_others(others_->share());  // since the last line
    return train_line(status, width);
  });
  report_epochs(r, run);
  report_skipped(r);
  if (!r.no_graphs.empty())
    message(fmt::format("step {}: training continues without CUDA graphs: {}", r.step, r.no_graphs));
  report_straggler(r);
}

// No step is faster than the processors, so a faster one shows that their rates were measured too low, for example
// because other programs used the cores at that moment.
void RunLog::check_limits(const StepReport& r) {
  const bool were_given = config_.train.peak_flops > 0 || config_.train.memory_bandwidth > 0;
  const double mfu = limits_.flops > 0 ? r.totals.flops / r.seconds / limits_.flops : 0;
  const double roofline = limits_.seconds / r.seconds;
  if (mfu <= 1 && roofline <= 1) return;
  if (!were_given) limits_.flops *= std::max(1.0, mfu), limits_.seconds /= std::max(1.0, roofline);
  if (std::exchange(limits_were_too_low_, true)) return;
  message(fmt::format("step {}: mfu is {:.0f} % and roofline {:.0f} %, so the rates of the processors are too low: {}",
                      r.step, 100 * mfu, 100 * roofline,
                      were_given
                          ? "correct train.peak_flops and train.memory_bandwidth"
                          : "they were measured on a busy machine, and both shares now refer to the fastest step"));
}

// docs/formats/log-format.md describes the record of a step.
nlohmann::ordered_json RunLog::step_record(const StepReport& r, const RunSoFar& run) const {
  const StepTotals& t = r.totals;
  nlohmann::ordered_json record{{"step", r.step},
                                {"epoch", r.epoch()},
                                {"loss", r.loss()},
                                {"nll", r.nll()},
                                {"lr", r.lr},
                                {"grad_norm", r.grad_norm},
                                {"pairs", t.pairs},
                                {"source_tokens", t.source_tokens},
                                {"target_tokens", t.target_tokens},
                                {"seconds", r.seconds},
                                {"fill", t.fill(config_.batch)}};
  if (config_.train.consistency != Consistency::none) record["divergence"] = r.divergence();
  if (t.target_weight != static_cast<double>(t.target_tokens)) record["target_weight"] = t.target_weight;
  if (limits_.flops > 0) record["mfu"] = to_four_digits(t.flops / r.seconds / limits_.flops);
  if (limits_.seconds > 0) record["roofline"] = to_four_digits(limits_.seconds / r.seconds);
  if (!t.busy.empty())
    record["slowest_rank"] = slowest_rank(t.busy), record["waiting"] = to_four_digits(waiting_share(t.busy));
  if (config_.train.precision == Precision::f16) record["loss_scale"] = r.loss_scale;
  if (r.skipped()) record["skipped"] = true;
  const Stage& stage = stages_.at(r.stage);
  if (!stage.name.empty()) record["stage"] = stage.name;
  if (run.stages_end) record["stages_end"] = *run.stages_end;
  for (size_t i = 0; has_corpora_ && i < r.epochs.size(); ++i) {
    const std::string& folder = run.folders.at(i);
    record["epochs"][folder] = r.epochs[i];
    record["corpus_nll"][folder] = stage.corpora.size() == 1 ? r.nll() : mean_nll(t.corpora[i]);
  }
  return record;
}

TrainStatus RunLog::status_of(const StepReport& r, const RunSoFar& run) const {
  const double minutes = config_.train.minutes;
  const int64_t steps = config_.train.steps;
  const int64_t last = steps > 0 ? std::min(run.stages_end.value_or(steps), steps) : run.last_step;
  const double by_steps = throughput_.seconds_for(last - r.step);
  const double by_time = minutes > 0 ? 60 * minutes - run.seconds : by_steps;
  const double left = std::max(0.0, std::min(by_steps, by_time));
  return {.step = r.step,
          .total_steps = by_time < by_steps ? 0 : run.last_step,
          .data = describe_place(r),
          .fraction = run.seconds / std::max(run.seconds + left, 1e-9),
          .loss = r.loss(),
          .nll = r.nll(),
          .lr = r.lr,
          .grad_norm = r.grad_norm,
          .divergence = r.divergence(),
          .source_tokens_per_second = throughput_.source_tokens_per_second(),
          .target_tokens_per_second = throughput_.target_tokens_per_second(),
          .fill = r.totals.fill(config_.batch),
          .mfu = limits_.flops > 0 ? throughput_.flops_per_second() / limits_.flops : 0,
          .roofline = limits_.seconds / throughput_.seconds_for(1),
          .eta_seconds = left};
}

void RunLog::report_straggler(const StepReport& r) {
  if (r.totals.busy.empty()) return;
  const std::vector<double> busy = busy_with_equal_blocks(r.totals.busy, config_.batch.blocks, config_.parallel);
  if (const std::string text = stragglers_.observe(r.step, busy); !text.empty()) message(text);
}

// Returns for example "stage 2/3 tune  epochs 0 3 41  nlls 2.10 3.42 -", with "-" if the step has no pair of a corpus.
std::string RunLog::describe_place(const StepReport& r) const {
  const Stage& stage = stages_.at(r.stage);
  std::string text;
  if (!stage.name.empty()) text = fmt::format("stage {}/{} {}", r.stage + 1, stages_.size(), stage.name);
  if (!has_corpora_) return text;
  const bool is_mix = stage.corpora.size() > 1;
  text += fmt::format("{}{} {}", text.empty() ? "" : "  ", is_mix ? "epochs" : "epoch", fmt::join(r.epochs, " "));
  for (size_t i = 0; is_mix && i < r.totals.corpora.size(); ++i) {
    const double nll = mean_nll(r.totals.corpora[i]);
    text += (i == 0 ? "  nlls " : " ") + (std::isnan(nll) ? "-" : fmt::format("{:.2f}", nll));
  }
  return text;
}

void RunLog::stage_begins(const StageRun& stages) {
  stage_steps_ = stage_source_ = stage_target_ = 0;
  epochs_.clear();
  message(fmt::format("stage {} of {}, {}, starts with step {}: {}", stages.index() + 1, stages_.size(),
                      stages.stage().name, stages.first_step() + 1, describe_end(stages.stage().end)));
}

// Returns texts such as "epoch 3 of packed/clean". In a mix, an epoch that starts less than train.log_every steps after
// the last reported epoch of its corpus is not reported.
std::vector<std::string> RunLog::new_epochs(const StepReport& r) {
  const std::vector<MixCorpus>& corpora = stages_.at(r.stage).corpora;
  std::vector<std::string> texts;
  for (size_t i = 0; i < epochs_.size() && i < r.epochs.size(); ++i) {
    Epoch& last = epochs_[i];
    if (r.epochs[i] <= last.number) continue;
    last.number = r.epochs[i];
    if (corpora.size() > 1 && r.step - last.said_at < config_.train.log_every) continue;
    last.said_at = r.step;
    texts.push_back(fmt::format("epoch {}{}", last.number, corpora.size() == 1 ? "" : " of " + corpora[i].folder));
  }
  return texts;
}

// At the first step of a new epoch, reports how full the blocks were and how many pairs were left out.
void RunLog::report_epochs(const StepReport& r, const RunSoFar& run) {
  if (epochs_.empty())
    for (const int64_t epoch : r.epochs) epochs_.push_back({.number = epoch, .said_at = r.step});
  const double blocks = static_cast<double>(config_.batch.blocks);
  stage_steps_ += 1, stage_source_ += static_cast<double>(r.totals.source_tokens),
      stage_target_ += static_cast<double>(r.totals.target_tokens);
  const std::vector<std::string> epochs = new_epochs(r);
  if (epochs.empty()) return;
  message(fmt::format(
      "{} {}; so far, blocks were filled to {:.2f} % with source and {:.2f} % with target tokens{}{}",
      fmt::join(epochs, ", "), epochs.size() == 1 ? "starts" : "start",
      100 * stage_source_ / (stage_steps_ * blocks * static_cast<double>(config_.batch.source_rows)),
      100 * stage_target_ / (stage_steps_ * blocks * static_cast<double>(config_.batch.rows)),
      run.dropped == 0 ? "" : fmt::format("; {} pairs longer than a block (batch.rows) were left out", run.dropped),
      run.below_score == 0 ? "" : fmt::format("; {} pairs had a score below min_score", run.below_score)));
}

void RunLog::report_skipped(const StepReport& r) {
  if (!r.skipped() && r.totals.target_weight == 0)
    message(fmt::format("step {}: all pairs have weight 0, so the step does not update the model", r.step));
  if (!r.skipped()) return;
  message(fmt::format("step {}: a gradient is not finite, so all ranks skip the step{}", r.step,
                      LossScaler::can_lower(r.loss_scale)
                          ? fmt::format(" and halve the loss scale of {:.0f}", r.loss_scale)
                          : fmt::format(" (epoch {}, loss scale {:.0f}, {})", r.epoch(), r.loss_scale, r.not_finite)));
}

void RunLog::rollback(int64_t step, int64_t back_to) { write({{"step", step}, {"rolled_back_to", back_to}}); }

void RunLog::validation(const ValidationReport& r, const std::string& verdict) {
  nlohmann::ordered_json record{{"step", r.step}};
  add_numbers(r.sets.front(), "", record);
  std::string text = fmt::format("step {}: validation", r.step);
  for (const SetReport& set : r.sets) {
    text += (&set == &r.sets.front() ? " " : "; ") + words_of_set(set);
    if (set.name.empty()) continue;
    record["sets"].push_back(set.name);
    add_numbers(set, set.name, record);
  }
  for (const SampleText& t : r.samples) {
    nlohmann::ordered_json sample{{"source", t.source}, {"reference", t.reference}, {"hypothesis", t.hypothesis}};
    if (!t.set.empty()) sample["set"] = t.set;
    record["samples"].push_back(std::move(sample));
  }
  if (r.attention) record["attention"] = to_json(*r.attention);
  write(std::move(record));
  message(fmt::format("{}  ({})", text, verdict));
}

void RunLog::score(const CommandScore& s, const std::string& verdict) {
  nlohmann::ordered_json record{{"step", s.step}};
  if (!s.failure.empty()) {
    record["no_score"] = s.failure;
    write(std::move(record));
    message(fmt::format("step {}: NO SCORE from train.validate_command: {}; training continues", s.step, s.failure));
    return;
  }
  std::string text;
  for (const auto& [key, value] : s.scores) {
    record[key] = value;
    if (s.scores.size() == 1 || key != "score")
      text += fmt::format("{}{} {:.6g}", text.empty() ? "" : ", ", key, value);
  }
  write(std::move(record));
  message(fmt::format("step {}: {}{}", s.step, text, verdict.empty() ? "" : fmt::format("  ({})", verdict)));
}

}  // namespace weft
