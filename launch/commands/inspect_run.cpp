// launch/commands/inspect_run.cpp: shows a verified checkpoint, or a run's log and checkpoints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "data/text/split.h"
#include "launch/commands/inspect.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/display/chart.h"
#include "trainer/display/units.h"
#include "trainer/report/event_log.h"
#include "trainer/report/log_curves.h"
#include "trainer/report/log_record.h"
#include "trainer/validation/validation_metric.h"

namespace weft {
namespace {

constexpr size_t kLastRecords = 5;

// Collects what the command shows of a log.
class RunSummary {
 public:
  void add(nlohmann::json&& record) {
    place_.pass(record);
    if (is_validation(record)) return keep(std::move(record), validations_);
    if (!record.contains("loss")) return;
    if (const std::string now = text_at(record, "stage"); now != stage_)
      stages_.emplace_back(number_or_0(record, "step"), stage_ = now);
    keep(std::move(record), steps_);
  }

  void print() const {
    fmt::print("{} of training, {} target tokens\n", format_duration(place_.seconds),
               format_count(place_.target_tokens));
    fmt::print("\nlast steps\n");
    print_last_steps();
    if (!stages_.empty()) fmt::print("\nstages\n");
    for (const auto& [step, name] : stages_) fmt::print("  step {:<8}  {}\n", step, printable(name));
    if (!steps_.empty() && steps_.back().contains("epochs")) print_corpora(steps_.back());
    fmt::print("\nlast validations\n");
    for (const nlohmann::json& validation : validations_) print_validation(validation);
  }

 private:
  using Records = std::deque<nlohmann::json>;

  static void keep(nlohmann::json&& record, Records& last) {
    last.push_back(std::move(record));
    if (last.size() > kLastRecords) last.pop_front();
  }

  void print_last_steps() const {  // as "step 1200  epoch 3  loss 3.1000  ..."
    for (const nlohmann::json& step : steps_) {
      const auto value = [&](const char* name) { return number_or_0(step, name); };
      fmt::print("  step {:<8}  epoch {}  loss {:.4f}  nll {:.4f}  lr {:.2e}  grad {:.3f}\n", value("step"),
                 value("epoch"), value("loss"), value("nll"), value("lr"), value("grad_norm"));
    }
  }

  static void print_corpora(const nlohmann::json& step) {
    fmt::print("\ncorpora at the last step\n");
    for (const auto& [folder, epoch] : numbers_in(step, "epochs")) {
      fmt::print("  {:<24}  epoch {:.0f}", printable(folder), epoch);
      for (const auto& [corpus, nll] : numbers_in(step, "corpus_nll"))
        if (corpus == folder) fmt::print("  nll {:.6g}", nll);
      fmt::print("\n");
    }
  }

  // Prints a line per set, as "step 1200  dev.loss 3.1  ...", without "dev." if the set has no name.
  static void print_validation(const nlohmann::json& validation) {
    for (const std::string& name : sets_of(validation)) {
      fmt::print("  step {:<8}", number_or_0(validation, "step"));
      const std::string signature = printable(text_at(validation, validation_key(name, kBleuSignature)));
      for (const ValidationMetric& metric : kValidationMetrics) {
        const auto value = number_at(validation, validation_key(name, metric.key));
        if (value) fmt::print("  {}{}{}", printable(name), name.empty() ? "" : ".", worded(metric, *value, signature));
      }
      fmt::print("\n");
    }
  }

  RunPlace place_;
  std::string stage_;
  std::vector<std::pair<double, std::string>> stages_;  // each with its first step
  Records steps_, validations_;                         // the last few
};

std::vector<std::string> drawn_names(const RunView& view) {
  if (!view.chart) return {};
  std::vector<std::string> names = split_at_commas(view.curve.empty() ? "loss,bleu" : view.curve);
  if (names.size() > 2) fail(ErrorKind::usage, "--curve names too many values: --chart can draw at most two curves");
  return names;
}

void require_known(const std::string& name, const std::string& log) {
  std::set<std::string> known;
  for_each_scored_record(log, [&](const nlohmann::json& record) {
    for (const auto& [key, value] : drawable_numbers(record)) known.insert(printable(key));
  });
  if (!known.contains(printable(name)))
    fail(ErrorKind::usage, fmt::format("--curve {} is not in the log, which contains only the values {}",
                                       printable(name), fmt::join(known, ", ")));
}

std::string chart_of(std::vector<ChartSeries> series, const RunView& view, const std::string& log) {
  for (ChartSeries& curve : series) {
    if (!view.curve.empty() && curve.points.empty()) require_known(curve.name, log);
    if (view.curve.empty() && curve.name == "bleu") curve.name = "BLEU";
  }
  const char* const axis = view.over == CurveAxis::tokens  ? "target tokens"
                           : view.over == CurveAxis::hours ? "hours of steps"
                                                           : "step";
  return draw_chart(series, {.utf8 = locale_is_utf8(), .axis = axis});
}

}  // namespace

void inspect_checkpoint(const std::string& folder) {
  verify_checkpoint(folder);
  const CheckpointManifest m = read_checkpoint_manifest(folder);
  fmt::print("checkpoint {}\n  step {}, written by weft {} on dp {} x tp {}; every SHA-256 matches\n\n", folder, m.step,
             m.weft_version, m.dp, m.tp);
  for (const auto& [name, digest] : m.files)
    fmt::print("  {:<28} {:>12}  sha256 {}\n", name, format_bytes(digest.size), digest.sha256.substr(0, 12));
  for (const auto& [name, digest] : m.files) {
    int64_t total = 0;
    for (const auto& [tensor, stored] : m.tensors) {
      if (stored.file != name) continue;
      if (total == 0) fmt::print("\n{}\n", name);
      int64_t count = 1;
      for (const int64_t dim : stored.shape) count *= dim;
      total += count;
      fmt::print("  {:<44} {:<5} {:<22} {:>14}\n", tensor, stored.dtype, str(stored.shape), with_commas(count));
    }
    if (total > 0) fmt::print("  {:<73} {:>14}\n", "total elements", with_commas(total));
  }
  fmt::print("\nmodel and settings of the checkpoint: {}/config.cfg\n", folder);
}

void inspect_run(const std::string& folder, const RunView& view) {
  const std::string log = folder + "/log.jsonl";
  RunSummary summary;
  LogCurves curves(drawn_names(view), view.over);
  for_each_scored_record(log, [&](nlohmann::json&& record) {
    if (view.chart) curves.add(record);
    summary.add(std::move(record));
  });
  const std::string checkpoints = folder + "/checkpoints";
  const auto named = [&](const char* link) {
    const std::optional<std::string> name = pointed_at(checkpoints, link);
    if (!name) return std::string("none");
    return *name + (std::filesystem::exists(checkpoints + "/" + *name) ? "" : " (missing)");
  };
  fmt::print("run {}: latest checkpoint {}, best {}\n", folder, named("latest"), named("best"));
  summary.print();
  if (view.chart) fmt::print("\n{}", chart_of(curves.take(), view, log));
}

}  // namespace weft
