// trainer/report/log_curves.cpp: goes through a log, extracts numbers, and adds up the tokens and seconds of its steps.
#include "trainer/report/log_curves.h"

#include <filesystem>
#include <set>

#include "trainer/report/log_record.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::string last_parts(const fs::path& path, size_t count) {
  const std::vector<fs::path> parts(path.begin(), path.end());
  fs::path end;
  for (size_t i = parts.size() - std::min(count, parts.size()); i < parts.size(); ++i) end /= parts[i];
  return end.string();
}

}  // namespace

void RunPlace::pass(const nlohmann::json& record) {
  step = integer_at(record, "step").value_or(0);
  if (!record.contains("loss")) return;
  target_tokens += number_or_0(record, "target_tokens"), seconds += number_or_0(record, "seconds");
}

double RunPlace::on(CurveAxis axis) const {
  return axis == CurveAxis::tokens ? target_tokens : axis == CurveAxis::hours ? seconds / 3600 : double(step);
}

std::vector<std::pair<std::string, double>> drawable_numbers(const nlohmann::json& record) {
  std::vector<std::pair<std::string, double>> numbers;
  if (!record.contains("loss") && !is_validation(record)) return numbers;
  for (const auto& [key, value] : record.items())
    if (value.is_number() && key != "step" && key != "time") numbers.emplace_back(key, value.get<double>());
  for (const char* of_corpora : {"corpus_nll", "epochs"})
    for (const auto& [folder, value] : numbers_in(record, of_corpora))
      numbers.emplace_back(std::string(of_corpora) + "." + folder, value);
  const double seconds = number_or_0(record, "seconds");
  for (const char* tokens : {"source_tokens", "target_tokens"})
    if (const auto count = number_at(record, tokens); count && seconds > 0)
      numbers.emplace_back(std::string(tokens) + "_per_second", *count / seconds);
  return numbers;
}

LogCurves::LogCurves(const std::vector<std::string>& names, CurveAxis axis) : axis_(axis) {
  for (const std::string& name : names) series_.push_back({.name = name, .points = {}});
}

void LogCurves::add(const nlohmann::json& record) {
  place_.pass(record);
  for (const auto& [key, value] : drawable_numbers(record))
    for (ChartSeries& series : series_)
      if (series.name == key) series.add(place_.on(axis_), value);
}

std::vector<std::string> distinct_names(const std::vector<std::string>& folders) {
  std::vector<fs::path> paths;
  for (const std::string& folder : folders) {
    const fs::path path = fs::absolute(folder).lexically_normal();
    paths.push_back(path.has_filename() ? path : path.parent_path());
  }
  const size_t folders_given = std::set(paths.begin(), paths.end()).size();
  const auto names_of = [&](size_t parts) {
    std::vector<std::string> names;
    for (const fs::path& path : paths) names.push_back(last_parts(path, parts));
    return names;
  };
  for (size_t parts = 1;; ++parts) {
    std::vector<std::string> names = names_of(parts);
    if (std::set(names.begin(), names.end()).size() == folders_given) return names;
  }
}

}  // namespace weft
