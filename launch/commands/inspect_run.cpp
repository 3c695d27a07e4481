// launch/commands/inspect_run.cpp: shows a verified checkpoint, or a run's log and checkpoints.
#include <fmt/format.h>
#include <fmt/ranges.h>

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

// Prints each of the last few steps as "step 1200  epoch 3  loss 3.1000  ...".
void print_last_steps(const std::vector<nlohmann::json>& log) {
  std::vector<const nlohmann::json*> records;
  for (const nlohmann::json& record : log)
    if (record.contains("loss")) records.push_back(&record);
  for (size_t i = records.size() - std::min(records.size(), kLastRecords); i < records.size(); ++i) {
    const auto value = [&](const char* name) { return number_or_0(*records[i], name); };
    fmt::print("  step {:<8}  epoch {}  loss {:.4f}  nll {:.4f}  lr {:.2e}  grad {:.3f}\n", value("step"),
               value("epoch"), value("loss"), value("nll"), value("lr"), value("grad_norm"));
  }
}

// Prints the first step of each data stage, and the epochs and losses of the mix's corpora at the last step.
void print_stages_and_corpora(const std::vector<nlohmann::json>& log) {
  std::string stage;
  const nlohmann::json* last = nullptr;
  for (const nlohmann::json& record : log) {
    if (!record.contains("loss")) continue;
    last = &record;
    const std::string now = text_at(record, "stage");
    if (now == stage) continue;
    if (stage.empty()) fmt::print("\nstages\n");
    fmt::print("  step {:<8}  {}\n", number_or_0(record, "step"), printable(now));
    stage = now;
  }
  if (last == nullptr || !last->contains("epochs")) return;
  fmt::print("\ncorpora at the last step\n");
  for (const auto& [folder, epoch] : numbers_in(*last, "epochs")) {
    fmt::print("  {:<24}  epoch {:.0f}", printable(folder), epoch);
    for (const auto& [corpus, nll] : numbers_in(*last, "corpus_nll"))
      if (corpus == folder) fmt::print("  nll {:.6g}", nll);
    fmt::print("\n");
  }
}

// Prints each set of the last few validations as "step 1200  dev.loss 3.1  ...", without "dev." if the set has no name.
void print_last_validations(const std::vector<nlohmann::json>& log) {
  std::vector<const nlohmann::json*> records;
  for (const nlohmann::json& record : log)
    if (is_validation(record)) records.push_back(&record);
  for (size_t i = records.size() - std::min(records.size(), kLastRecords); i < records.size(); ++i) {
    for (const std::string& name : sets_of(*records[i])) {
      fmt::print("  step {:<8}", number_or_0(*records[i], "step"));
      const std::string signature = printable(text_at(*records[i], validation_key(name, kBleuSignature)));
      for (const ValidationMetric& metric : kValidationMetrics) {
        const auto value = number_at(*records[i], validation_key(name, metric.key));
        if (value) fmt::print("  {}{}{}", printable(name), name.empty() ? "" : ".", worded(metric, *value, signature));
      }
      fmt::print("\n");
    }
  }
}

std::string chart_of(const std::vector<nlohmann::json>& log, const RunView& view) {
  std::vector<ChartSeries> series;
  const auto add = [&](const std::string& key, const std::string& label) {
    series.push_back(curve_of(log, key, view.over));
    series.back().name = label;
  };
  if (view.curve.empty()) {
    add("loss", "loss");
    add("bleu", "BLEU");
  } else {
    std::set<std::string> known;
    for (const std::string& name : drawable_names(log)) known.insert(printable(name));
    for (const std::string& name : split_at_commas(view.curve)) {
      if (!known.contains(printable(name)))
        fail(ErrorKind::usage, fmt::format("--curve {} is not in the log, which contains only the values {}",
                                           printable(name), fmt::join(known, ", ")));
      add(name, name);
    }
  }
  if (series.size() > 2) fail(ErrorKind::usage, "--curve names too many values: --chart can draw at most two curves");
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
  const std::vector<nlohmann::json> log = with_scores(read_event_log(folder + "/log.jsonl"));
  const std::string checkpoints = folder + "/checkpoints";
  const auto named = [&](const char* link) {
    const std::optional<std::string> name = pointed_at(checkpoints, link);
    if (!name) return std::string("none");
    return *name + (std::filesystem::exists(checkpoints + "/" + *name) ? "" : " (missing)");
  };
  fmt::print("run {}: latest checkpoint {}, best {}\n", folder, named("latest"), named("best"));
  RunPlace end;
  for (const nlohmann::json& record : log) end.pass(record);
  fmt::print("{} of training, {} target tokens\n", format_duration(end.seconds), format_count(end.target_tokens));
  fmt::print("\nlast steps\n");
  print_last_steps(log);
  print_stages_and_corpora(log);
  fmt::print("\nlast validations\n");
  print_last_validations(log);
  if (view.chart) fmt::print("\n{}", chart_of(log, view));
}

}  // namespace weft
