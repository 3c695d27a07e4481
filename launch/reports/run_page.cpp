// launch/reports/run_page.cpp: collects the runs' log records by kind, and assembles frame, style, script and data.
#include "launch/reports/run_page.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "launch/reports/run_page/files.h"
#include "trainer/config/config_text.h"
#include "trainer/display/svg.h"
#include "trainer/report/event_log.h"
#include "trainer/report/log_curves.h"
#include "trainer/report/log_record.h"
#include "trainer/validation/validation_metric.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxPoints = 2000;

Json number_of(const nlohmann::json& record, const std::string& key) {  // null if the record lacks it
  const auto value = number_at(record, key);
  return value ? Json(*value) : Json();
}

Json json_of(const RunPlace& place) {
  return {{"step", place.step}, {"tokens", place.target_tokens}, {"hours", place.seconds / 3600}};
}

struct Mean {  // a mean of successive numbers
  double sum = 0;
  int64_t count = 0;

  void add(double value) { sum += value, ++count; }
  Json take_mean() {
    const Json mean = count > 0 ? Json(sum / static_cast<double>(count)) : Json();
    *this = Mean();
    return mean;
  }
};

// Collects the curves of training steps. Each group of neighboring steps becomes one point.
class StepCurves {
 public:
  explicit StepCurves(size_t steps) : group_((steps + kMaxPoints - 1) / kMaxPoints) {}

  void add(const nlohmann::json& record, const RunPlace& place) {
    for (const char* key : kCurves)
      if (const auto value = number_at(record, key)) numbers_[key].add(*value);
    for (const auto& [folder, nll] : numbers_in(record, "corpus_nll")) corpora_[folder].add(nll);
    last_ = place;
    if (++steps_ == group_) close();
  }
  Json finish() {
    if (steps_ > 0) close();
    return std::move(curves_);
  }

 private:
  void close() {
    const Json axes = json_of(last_);
    for (const auto& [axis, value] : axes.items()) curves_[axis].push_back(value);
    for (const char* key : kCurves) curves_[key].push_back(numbers_[key].take_mean());
    for (auto& [folder, mean] : corpora_) {
      Json& curve = curves_["corpora"][folder];
      while (curve.size() + 1 < curves_["step"].size()) curve.push_back(nullptr);  // only a later stage uses the corpus
      curve.push_back(mean.take_mean());
    }
    const double seconds = last_.seconds - first_.seconds;
    curves_["speed"].push_back(seconds > 0 ? Json((last_.target_tokens - first_.target_tokens) / seconds) : Json());
    first_ = last_, steps_ = 0;
  }

  static constexpr const char* kCurves[] = {"loss", "nll", "lr", "grad_norm", "fill", "waiting", "mfu", "roofline"};

  const size_t group_;
  size_t steps_ = 0;
  RunPlace first_, last_;
  std::map<std::string, Mean> numbers_, corpora_;
  Json curves_ = {
      {"step", Json::array()}, {"tokens", Json::array()}, {"hours", Json::array()}, {"corpora", Json::object()}};
};

Json samples_of(const nlohmann::json& record) {
  Json samples = Json::array();
  if (const auto it = record.find("samples"); it != record.end() && it->is_array())
    for (const nlohmann::json& s : *it)
      samples.push_back({{"source", text_at(s, "source")},
                         {"reference", text_at(s, "reference")},
                         {"hypothesis", text_at(s, "hypothesis")},
                         {"set", text_at(s, "set")}});
  return samples;
}

// Returns null unless the weights are a matrix with one row per target token and one column per source token.
Json attention_of(const nlohmann::json& record) {
  const auto it = record.find("attention");
  if (it == record.end()) return {};
  const std::vector<std::string> source = texts_at(*it, "source"), target = texts_at(*it, "target");
  const Json weights = it->is_object() ? Json(it->value("weights", nlohmann::json())) : Json();
  const auto is_row = [&](const Json& row) {
    return row.is_array() && row.size() == source.size() &&
           std::all_of(row.begin(), row.end(), [](const Json& value) { return value.is_number(); });
  };
  if (source.empty() || !weights.is_array() || weights.size() != target.size() ||
      !std::all_of(weights.begin(), weights.end(), is_row))
    return {};
  return {{"source", source}, {"target", target}, {"weights", weights}};
}

Json validation_of(const nlohmann::json& record, const RunPlace& place) {
  Json validation = json_of(place);
  validation["sets"] = texts_at(record, "sets");
  std::vector<std::string> names = texts_at(record, "sets");
  names.emplace_back();  // for keys that name no set
  for (const std::string& name : names) {
    for (const ValidationMetric& metric : kValidationMetrics) {
      const std::string key = validation_key(name, metric.key);
      validation[key] = number_of(record, key);
    }
    const std::string key = validation_key(name, kBleuSignature);
    validation[key] = text_at(record, key);
  }
  validation["samples"] = samples_of(record);
  validation["attention"] = attention_of(record);
  return validation;
}

Json start_of(const nlohmann::json& record, const RunPlace& place) {
  Json start = json_of(place);
  for (const char* key : {"time", "dp", "tp"}) start[key] = number_of(record, key);
  for (const char* key : {"weft", "device"}) start[key] = text_at(record, key);
  start["hosts"] = texts_at(record, "hosts");
  return start;
}

struct RankTime {
  int64_t slowest = 0;  // steps in which the rank was the slowest
  double waiting = 0;   // sum of the other ranks' waiting in these steps
};

Json ranks_of(const std::map<int64_t, RankTime>& ranks, const Json& hosts) {  // sorted, the slowest first
  Json all = Json::array();
  for (const auto& [rank, time] : ranks)
    all.push_back({{"rank", rank},
                   {"host", rank >= 0 && static_cast<size_t>(rank) < hosts.size() ? hosts[rank] : Json("")},
                   {"slowest", time.slowest},
                   {"waiting", time.waiting / static_cast<double>(time.slowest)}});
  std::stable_sort(all.begin(), all.end(), [](const Json& a, const Json& b) { return a["slowest"] > b["slowest"]; });
  return all;
}

Json run_of(const PageRun& run) {
  const auto steps = std::ranges::count_if(run.log, [](const auto& record) { return record.contains("loss"); });
  StepCurves curves(static_cast<size_t>(steps));
  Json starts = Json::array(), validations = Json::array(), rollbacks = Json::array(), stages = Json::array();
  std::map<int64_t, RankTime> ranks;
  std::string plan, stage;
  RunPlace place;
  for (const nlohmann::json& record : with_scores(run.log)) {
    const RunPlace before = place;
    place.pass(record);
    if (record.contains("schema")) {
      starts.push_back(start_of(record, place));
      plan = text_at(record, "plan");
    } else if (record.contains("loss")) {
      curves.add(record, place);
      if (const std::string now = text_at(record, "stage"); now != stage) {
        stages.push_back(json_of(before));
        stages.back()["name"] = stage = now;
        stages.back()["time"] = number_of(record, "time");
      }
      if (const auto rank = integer_at(record, "slowest_rank")) {
        RankTime& time = ranks[*rank];
        ++time.slowest, time.waiting += number_or_0(record, "waiting");
      }
    } else if (is_validation(record)) {
      validations.push_back(validation_of(record, place));
    } else if (record.contains("rolled_back_to")) {
      rollbacks.push_back(json_of(place));
      rollbacks.back()["back_to"] = number_of(record, "rolled_back_to");
      rollbacks.back()["time"] = number_of(record, "time");
    }
  }
  const Json hosts = starts.empty() ? Json::array() : starts.back()["hosts"];
  return {{"name", run.name},         {"config", run.config},       {"plan", plan},
          {"steps", curves.finish()}, {"validations", validations}, {"starts", starts},
          {"rollbacks", rollbacks},   {"stages", stages},           {"ranks", ranks_of(ranks, hosts)}};
}

// Returns no options if the file is damaged, because the page then shows the file only as text.
std::vector<CfgOption> options_of(const PageRun& run) {
  try {
    return read_cfg(run.config, "config.cfg");
  } catch (const Error&) {
    return {};
  }
}

// Returns the options that differ between the runs, in the order of their files. The value is null for a run whose file
// lacks the option (a different version wrote the file, or the option belongs to a stage) and for a run without a file.
// An option that some files lack does not count as different if it is empty or 0 in all other files.
Json differences_of(const std::vector<PageRun>& runs) {
  std::vector<CfgOption> options;  // each with the value of the first file that contains it
  std::vector<std::map<std::string, std::string>> values;
  for (const PageRun& run : runs) {
    auto place = options.begin();
    std::map<std::string, std::string>& of_run = values.emplace_back();
    for (const CfgOption& option : options_of(run)) {
      if (option.is_section) continue;
      of_run.emplace(option.key, option.value);
      const auto known = std::ranges::find(options, option.key, &CfgOption::key);
      place = 1 + (known != options.end() ? known : options.insert(place, option));
    }
  }
  Json differences = Json::array();
  for (const auto& [name, value, line, is_section] : options) {
    Json of_runs = Json::array();
    bool is_different = false, is_lacking = false, is_set = false;
    for (size_t i = 0; i < runs.size(); ++i) {
      const auto found = values[i].find(name);
      of_runs.push_back(found == values[i].end() ? Json() : Json(found->second));
      if (runs[i].config.empty()) continue;
      if (found == values[i].end()) {
        is_lacking = true;
      } else {
        is_different |= found->second != value, is_set |= !found->second.empty() && found->second != "0";
      }
    }
    if ((is_different || (is_lacking && is_set)) && name != "train.output")
      differences.push_back({{"name", name}, {"values", of_runs}});
  }
  return differences;
}

// Returns the corpora of all mixes, each with its folder and a short name that no other corpus has.
Json corpora_of(const Json& runs) {
  std::set<std::string> all;
  for (const Json& run : runs)
    for (const auto& [folder, curve] : run["steps"]["corpora"].items()) all.insert(folder);
  const std::vector<std::string> folders(all.begin(), all.end()), names = distinct_names(folders);
  Json corpora = Json::array();
  for (size_t i = 0; i < folders.size(); ++i) corpora.push_back({{"folder", folders[i]}, {"name", names[i]}});
  return corpora;
}

Json metrics_of_page() {
  Json metrics = Json::array();
  for (const ValidationMetric& metric : kValidationMetrics)
    metrics.push_back({{"key", metric.key},
                       {"word", metric.word},
                       {"title", metric.title},
                       {"unit", metric.unit},
                       {"digits", metric.digits < 0 ? 4 : metric.digits},
                       {"better", metric.better},
                       {"judges", metric.judges}});
  return metrics;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  size_t at = 0;
  while ((at = text.find(what, at)) != std::string::npos) text.replace(at, what.size(), by), at += by.size();
  return text;
}

}  // namespace

nlohmann::ordered_json run_page_data(const std::vector<PageRun>& runs) {
  Json all = Json::array();
  for (const PageRun& run : runs) all.push_back(run_of(run));
  return {{"runs", all},
          {"differences", differences_of(runs)},
          {"corpora", corpora_of(all)},
          {"metrics", metrics_of_page()}};
}

std::string run_page(const std::vector<PageRun>& runs) {
  std::string title;
  for (const PageRun& run : runs) title += (title.empty() ? "" : ", ") + run.name;
  // In JSON, `<` occurs only inside strings, so escaping it is safe. Unescaped, a string could end the script element.
  const std::string data =
      replaced(run_page_data(runs).dump(-1, ' ', false, Json::error_handler_t::replace), "<", "\\u003c");
  // The data is inserted last, because it may contain any text, even a placeholder.
  std::string page = replaced(std::string(kPageFrame), "%STYLE%", kPageStyle);
  page = replaced(std::move(page), "%SCRIPT%", kPageScript);
  page = replaced(std::move(page), "%TITLE%", svg_escaped(title));
  return replaced(std::move(page), "%DATA%", data);
}

}  // namespace weft
