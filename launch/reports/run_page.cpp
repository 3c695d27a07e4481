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

constexpr size_t kMaxPoints = 2000;  // of a curve of steps; even
constexpr size_t kMaxTexts = 200;    // validations with samples and attention; even, so that the last keeps its texts

Json number_of(const nlohmann::json& record, const std::string& key) {  // null if the record lacks it
  const auto value = number_at(record, key);
  return value ? Json(*value) : Json();
}

Json json_of(const RunPlace& place) {
  return {{"step", place.step}, {"tokens", place.target_tokens}, {"hours", place.seconds / 3600}};
}

struct Mean {
  double sum = 0;
  int64_t count = 0;

  void add(const Mean& other) { sum += other.sum, count += other.count; }
  Json value() const { return count > 0 ? Json(sum / static_cast<double>(count)) : Json(); }
};

constexpr const char* kCurves[] = {"loss", "nll", "lr", "grad_norm", "fill", "waiting", "mfu", "roofline"};

struct StepGroup {  // neighboring steps, which are one point of a curve
  int64_t steps = 0;
  RunPlace last;
  std::map<std::string, Mean> numbers, corpora;  // by key of the record, and by folder of the corpus

  void add(const StepGroup& next) {
    steps += next.steps, last = next.last;
    for (const auto& [key, mean] : next.numbers) numbers[key].add(mean);
    for (const auto& [folder, mean] : next.corpora) corpora[folder].add(mean);
  }
};

// Collects the curves of training steps. When a run has too many groups, two neighbors become one.
class StepCurves {
 public:
  void add(const nlohmann::json& record, const RunPlace& place) {
    StepGroup step{.steps = 1, .last = place};
    for (const char* key : kCurves)
      if (const auto value = number_at(record, key)) step.numbers[key] = {*value, 1};
    for (const auto& [folder, nll] : numbers_in(record, "corpus_nll")) step.corpora[folder] = {nll, 1};
    if (groups_.empty() || groups_.back().steps == group_) {
      if (groups_.size() == kMaxPoints) halve();
      groups_.emplace_back();
    }
    groups_.back().add(step);
  }

  Json to_json() const {
    Json curves = {
        {"step", Json::array()}, {"tokens", Json::array()}, {"hours", Json::array()}, {"corpora", Json::object()}};
    RunPlace before;
    for (const StepGroup& group : groups_) {
      const Json place = json_of(group.last);
      for (const auto& [axis, value] : place.items()) curves[axis].push_back(value);
      for (const char* key : kCurves) curves[key].push_back(mean_in(group.numbers, key));
      const double seconds = group.last.seconds - before.seconds;
      curves["speed"].push_back(seconds > 0 ? Json((group.last.target_tokens - before.target_tokens) / seconds)
                                            : Json());
      for (const auto& [folder, mean] : group.corpora) curves["corpora"][folder];
      before = group.last;
    }
    for (auto& [folder, curve] : curves["corpora"].items())  // a corpus of a later stage lacks the first points
      for (const StepGroup& group : groups_) curve.push_back(mean_in(group.corpora, folder));
    return curves;
  }

 private:
  static Json mean_in(const std::map<std::string, Mean>& means, const std::string& key) {
    const auto found = means.find(key);
    return found == means.end() ? Json() : found->second.value();
  }

  void halve() {
    for (size_t i = 0; i < kMaxPoints / 2; ++i) {
      if (i > 0) groups_[i] = std::move(groups_[2 * i]);
      groups_[i].add(groups_[2 * i + 1]);
    }
    groups_.resize(kMaxPoints / 2);
    group_ *= 2;
  }

  int64_t group_ = 1;  // steps of a group
  std::vector<StepGroup> groups_;
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

class RunData {  // collects the records of a run's log
 public:
  void add(const nlohmann::json& record) {
    const RunPlace before = place_;
    place_.pass(record);
    if (record.contains("schema")) {
      starts_.push_back(start_of(record, place_));
      plan_ = text_at(record, "plan");
    } else if (record.contains("loss")) {
      add_step(record, before);
    } else if (is_validation(record)) {
      validations_.push_back(validation_of(record, place_));
      with_texts_.push_back(validations_.size() - 1);
      if (with_texts_.size() > kMaxTexts) drop_texts();
    } else if (record.contains("rolled_back_to")) {
      rollbacks_.push_back(json_of(place_));
      rollbacks_.back()["back_to"] = number_of(record, "rolled_back_to");
      rollbacks_.back()["time"] = number_of(record, "time");
    }
  }

  Json to_json(const PageRun& run) const {
    const Json hosts = starts_.empty() ? Json::array() : starts_.back()["hosts"];
    return {{"name", run.name},           {"config", run.config},        {"plan", plan_},
            {"steps", curves_.to_json()}, {"validations", validations_}, {"starts", starts_},
            {"rollbacks", rollbacks_},    {"stages", stages_},           {"ranks", ranks_of(ranks_, hosts)}};
  }

 private:
  void add_step(const nlohmann::json& record, const RunPlace& before) {
    curves_.add(record, place_);
    if (const std::string now = text_at(record, "stage"); now != stage_) {
      stages_.push_back(json_of(before));
      stages_.back()["name"] = stage_ = now;
      stages_.back()["time"] = number_of(record, "time");
    }
    if (const auto rank = integer_at(record, "slowest_rank")) {
      RankTime& time = ranks_[*rank];
      ++time.slowest, time.waiting += number_or_0(record, "waiting");
    }
  }

  void drop_texts() {  // of every second validation; the first and the last keep theirs
    for (size_t i = 1; i < with_texts_.size(); ++i) {
      Json& dropped = validations_[with_texts_[i]];
      dropped["samples"] = Json::array(), dropped["attention"] = Json();
      with_texts_.erase(with_texts_.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  RunPlace place_;
  StepCurves curves_;
  std::string plan_, stage_;
  std::map<int64_t, RankTime> ranks_;
  std::vector<size_t> with_texts_;  // indices of validations
  Json starts_ = Json::array(), validations_ = Json::array(), rollbacks_ = Json::array(), stages_ = Json::array();
};

Json run_of(const PageRun& run) {
  RunData data;
  run.log([&](const nlohmann::json& record) { data.add(record); });
  return data.to_json(run);
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
