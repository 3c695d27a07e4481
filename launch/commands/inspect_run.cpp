// launch/commands/inspect_run.cpp: shows a verified checkpoint, or a run's log and checkpoints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "data/atomic_file.h"
#include "launch/commands/inspect.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/plan/validation_sets.h"
#include "trainer/report/chart.h"
#include "trainer/report/event_log.h"
#include "trainer/report/progress.h"
#include "trainer/report/svg_chart.h"
#include "trainer/report/tensorboard.h"
#include "trainer/report/units.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLastRecords = 5;

// A number of a record; nothing if it is missing or was not finite.
std::optional<double> number(const nlohmann::json& record, const char* key) {
  const auto it = record.find(key);
  if (it == record.end() || !it->is_number()) return std::nullopt;
  return it->get<double>();
}

ChartSeries series(const std::vector<nlohmann::json>& log, const char* key, const char* name) {
  ChartSeries s{.name = name};
  for (const nlohmann::json& record : log) {
    const auto step = number(record, "step"), value = number(record, key);
    if (step && value) s.points.emplace_back(*step, *value);
  }
  return s;
}

struct ChosenSeries {
  std::vector<ChartSeries> left;
  ChartSeries right;
};

ChosenSeries chosen_series(const std::vector<nlohmann::json>& log, const std::string& curve) {
  if (curve.empty())
    return {.left = {series(log, "loss", "loss"), series(log, "valid_loss", "validation loss")},
            .right = series(log, "bleu", "BLEU")};
  std::set<std::string> known;
  for (const nlohmann::json& record : log)
    for (const auto& [key, value] : record.items())
      if (value.is_number() && key != "step") known.insert(key);
  if (!known.contains(curve))
    fail(ErrorKind::usage, fmt::format("curve = {}: the log has {}", printable(curve),
                                       printable(fmt::format("{}", fmt::join(known, ", ")))));
  return {.left = {series(log, curve.c_str(), curve.c_str())}};
}

// The last few records that have `key`, each as "step 1200  loss 3.1  ...".
void print_last(const std::vector<nlohmann::json>& log, const char* key, std::initializer_list<const char*> shown) {
  std::vector<const nlohmann::json*> records;
  for (const nlohmann::json& record : log)
    if (record.contains(key)) records.push_back(&record);
  for (size_t i = records.size() - std::min(records.size(), kLastRecords); i < records.size(); ++i) {
    fmt::print("  step {:<8}", number(*records[i], "step").value_or(0));
    for (const char* name : shown)
      if (const auto value = number(*records[i], name)) fmt::print("  {} {:.6g}", name, *value);
    fmt::print("\n");
  }
}

// Each set of the last few validations, as "step 1200  dev.loss 3.1  ..."; of one set without a name as its keys.
void print_last_validations(const std::vector<nlohmann::json>& log) {
  std::vector<const nlohmann::json*> records;
  for (const nlohmann::json& record : log)
    if (record.contains("valid_loss")) records.push_back(&record);
  for (size_t i = records.size() - std::min(records.size(), kLastRecords); i < records.size(); ++i) {
    std::vector<std::string> names{""};
    if (const auto sets = records[i]->find("sets"); sets != records[i]->end() && sets->is_array() && !sets->empty()) {
      names.clear();
      for (const nlohmann::json& set : *sets)
        if (set.is_string()) names.push_back(set.get<std::string>());
    }
    for (const std::string& name : names) {
      fmt::print("  step {:<8}", number(*records[i], "step").value_or(0));
      for (const char* shown : {"valid_loss", "valid_nll", "bleu", "chrf", "score"}) {
        const std::string key = validation_key(name, shown);
        if (const auto value = number(*records[i], key.c_str())) fmt::print("  {} {:.6g}", printable(key), *value);
      }
      fmt::print("\n");
    }
  }
}

std::string config_of_run(const std::string& folder) {  // empty if it is gone
  const std::string path = folder + "/config.cfg";
  return fs::exists(path) ? read_file(path) : "";
}

std::string link_target(const fs::path& link) {
  std::error_code none;
  const fs::path target = fs::read_symlink(link, none);
  return none ? "none" : target.filename().string();
}

}  // namespace

void inspect_checkpoint(const std::string& folder) {
  verify_checkpoint(folder);
  const CheckpointManifest m = read_checkpoint_manifest(folder);
  fmt::print("checkpoint {}\n  step {}, written by weft {} on dp {} x tp {}; every SHA-256 is right\n\n", folder,
             m.step, m.weft_version, m.dp, m.tp);
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
  fmt::print("\nits model and settings: {}/config.cfg\n", folder);
}

void inspect_run(const std::string& folder, const RunView& view) {
  const std::vector<nlohmann::json> log = read_event_log(folder + "/log.jsonl");
  fmt::print("run {}: latest checkpoint {}, best {}\n", folder, link_target(fs::path(folder) / "checkpoints/latest"),
             link_target(fs::path(folder) / "checkpoints/best"));
  double seconds = 0, target_tokens = 0;
  for (const nlohmann::json& record : log) {
    seconds += number(record, "seconds").value_or(0);
    target_tokens += number(record, "target_tokens").value_or(0);
  }
  fmt::print("{} of steps, {} target tokens\n", format_duration(seconds), format_count(target_tokens));
  fmt::print("\nlast steps\n");
  print_last(log, "loss", {"epoch", "loss", "nll", "lr", "grad_norm"});
  fmt::print("\nlast validations\n");
  print_last_validations(with_scores(log));
  const auto [left, right] = chosen_series(log, view.curve);
  if (view.chart) fmt::print("\n{}", draw_chart({left.front(), right}, {.utf8 = locale_is_utf8()}));
  if (!view.tensorboard.empty()) TensorBoardLog(view.tensorboard, log, config_of_run(folder));
  if (view.svg.empty()) return;
  const std::string title = fs::path(folder).lexically_normal().filename().string();
  const std::string drawing = to_svg({.title = title, .left = left, .right = {right}});
  if (drawing.empty()) fail(ErrorKind::usage, fmt::format("{} has no step yet: there is nothing to draw", folder));
  write_file_atomically(view.svg, drawing);
}

}  // namespace weft
