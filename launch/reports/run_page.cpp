// launch/reports/run_page.cpp: collects a run's records by kind, and puts page, style, script and data together.
#include "launch/reports/run_page.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "launch/reports/run_page/files.h"
#include "trainer/plan/config_difference.h"
#include "trainer/plan/validation_sets.h"
#include "trainer/report/event_log.h"
#include "trainer/report/svg.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostPoints = 2000;

// Only what has the right type: the log may come from elsewhere.
Json number_of(const nlohmann::json& record, const char* key) {
  const auto it = record.find(key);
  return it != record.end() && it->is_number() ? Json(*it) : Json();
}

double amount_of(const nlohmann::json& record, const char* key) {
  const Json value = number_of(record, key);
  return value.is_null() ? 0 : value.get<double>();
}

std::string string_of(const nlohmann::json& record, const char* key) {
  const auto it = record.find(key);
  return it != record.end() && it->is_string() ? it->get<std::string>() : "";
}

Json strings_of(const nlohmann::json& record, const char* key) {
  Json strings = Json::array();
  if (const auto it = record.find(key); it != record.end() && it->is_array())
    for (const nlohmann::json& text : *it)
      if (text.is_string()) strings.push_back(text.get<std::string>());
  return strings;
}

struct Place {  // on each of the horizontal axes
  int64_t step = 0;
  double target_tokens = 0, seconds = 0;
  Json json() const { return {{"step", step}, {"tokens", target_tokens}, {"hours", seconds / 3600}}; }
};

// The curves of steps: neighbouring steps that become one point.
class StepCurves {
 public:
  explicit StepCurves(size_t steps) : group_((steps + kMostPoints - 1) / kMostPoints) {}

  void add(const nlohmann::json& record, const Place& place) {
    for (const char* key : {"loss", "nll", "lr", "grad_norm", "fill", "waiting", "mfu"}) {
      const Json value = number_of(record, key);
      if (value.is_null()) continue;
      sums_[key] += value.get<double>();
      ++counts_[key];
    }
    last_ = place;
    if (++steps_ == group_) close();
  }
  Json finish() {
    if (steps_ > 0) close();
    return std::move(curves_);
  }

 private:
  void close() {
    const Json axes = last_.json();
    for (const auto& [axis, value] : axes.items()) curves_[axis].push_back(value);
    for (const char* key : {"loss", "nll", "lr", "grad_norm", "fill", "waiting", "mfu"})
      curves_[key].push_back(counts_[key] > 0 ? Json(sums_[key] / counts_[key]) : Json());
    const double seconds = last_.seconds - first_.seconds;
    curves_["speed"].push_back(seconds > 0 ? Json((last_.target_tokens - first_.target_tokens) / seconds) : Json());
    first_ = last_;
    sums_.clear(), counts_.clear(), steps_ = 0;
  }

  const size_t group_;
  size_t steps_ = 0;
  Place first_, last_;
  std::map<std::string, double> sums_, counts_;
  Json curves_ = {{"step", Json::array()}, {"tokens", Json::array()}, {"hours", Json::array()}};
};

Json samples_of(const nlohmann::json& record) {
  Json samples = Json::array();
  if (const auto it = record.find("samples"); it != record.end() && it->is_array())
    for (const nlohmann::json& s : *it)
      samples.push_back({{"source", string_of(s, "source")},
                         {"reference", string_of(s, "reference")},
                         {"hypothesis", string_of(s, "hypothesis")},
                         {"set", string_of(s, "set")}});
  return samples;
}

// Null unless the weights are a matrix with a row for each target and a column for each source token.
Json attention_of(const nlohmann::json& record) {
  const auto it = record.find("attention");
  if (it == record.end()) return {};
  const Json source = strings_of(*it, "source"), target = strings_of(*it, "target");
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

Json validation_of(const nlohmann::json& record, const Place& place) {
  Json validation = place.json();
  validation["sets"] = strings_of(record, "sets");
  std::vector<std::string> names{""};
  for (const Json& name : validation["sets"]) names.push_back(name.get<std::string>());
  for (const std::string& name : names)
    for (const char* number : {"valid_loss", "valid_nll", "bleu", "chrf", "score"}) {
      const std::string key = validation_key(name, number);
      validation[key] = number_of(record, key.c_str());
    }
  validation["samples"] = samples_of(record);
  validation["attention"] = attention_of(record);
  return validation;
}

Json start_of(const nlohmann::json& record, const Place& place) {
  Json start = place.json();
  for (const char* key : {"time", "dp", "tp"}) start[key] = number_of(record, key);
  for (const char* key : {"weft", "device"}) start[key] = string_of(record, key);
  start["hosts"] = strings_of(record, "hosts");
  return start;
}

struct RankTime {
  int64_t slowest = 0;  // steps in which it was the slowest
  double waiting = 0;   // of the others then, summed
};

Json ranks_of(const std::map<int64_t, RankTime>& ranks, const Json& hosts) {  // the slowest first
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
  Json starts = Json::array(), validations = Json::array(), rollbacks = Json::array();
  std::map<int64_t, RankTime> ranks;
  std::string plan;
  Place place;
  for (const nlohmann::json& record : with_scores(run.log)) {
    place.step = record.value("step", int64_t{0});
    if (record.contains("schema")) {
      starts.push_back(start_of(record, place));
      plan = string_of(record, "plan");
    } else if (record.contains("loss")) {
      place.target_tokens += amount_of(record, "target_tokens"), place.seconds += amount_of(record, "seconds");
      curves.add(record, place);
      if (const Json rank = number_of(record, "slowest_rank"); rank.is_number_integer()) {
        RankTime& time = ranks[rank.get<int64_t>()];
        ++time.slowest, time.waiting += amount_of(record, "waiting");
      }
    } else if (record.contains("valid_loss")) {
      validations.push_back(validation_of(record, place));
    } else if (record.contains("rolled_back_to")) {
      rollbacks.push_back(place.json());
      rollbacks.back()["back_to"] = number_of(record, "rolled_back_to");
      rollbacks.back()["time"] = number_of(record, "time");
    }
  }
  const Json hosts = starts.empty() ? Json::array() : starts.back()["hosts"];
  return {{"name", run.name},         {"config", run.config},           {"plan", plan},
          {"steps", curves.finish()}, {"validations", validations},     {"starts", starts},
          {"rollbacks", rollbacks},   {"ranks", ranks_of(ranks, hosts)}};
}

// Options that not all runs have alike, in the order of their files.
Json differences_of(const std::vector<PageRun>& runs) {
  Json differences = Json::array();
  const auto of_option = [&](const std::string& name, const std::string& value) -> Json& {
    for (Json& known : differences)
      if (known["name"] == name) return known;
    differences.push_back({{"name", name}, {"values", std::vector<std::string>(runs.size(), value)}});
    return differences.back();
  };
  for (size_t i = 1; i < runs.size(); ++i)
    for (const ChangedOption& option : config_differences(runs.front().config, runs[i].config))
      if (option.name != "train.output") of_option(option.name, option.from)["values"][i] = option.to;
  return differences;
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
  return {{"runs", all}, {"differences", differences_of(runs)}};
}

std::string run_page(const std::vector<PageRun>& runs) {
  std::string title;
  for (const PageRun& run : runs) title += (title.empty() ? "" : ", ") + run.name;
  // A `<` is inside a string of the JSON, where this is the same: so nothing ends the script element.
  const std::string data =
      replaced(run_page_data(runs).dump(-1, ' ', false, Json::error_handler_t::replace), "<", "\\u003c");
  // The data last: its text may hold anything.
  std::string page = replaced(std::string(kPageFrame), "%STYLE%", kPageStyle);
  page = replaced(std::move(page), "%SCRIPT%", kPageScript);
  page = replaced(std::move(page), "%TITLE%", svg_escaped(title));
  return replaced(std::move(page), "%DATA%", data);
}

}  // namespace weft
