// launch/reports/bleu_report.cpp: formats scores as lines, aligned tables or JSON.
#include "launch/reports/bleu_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "data/text/unicode.h"

namespace weft {
namespace {

constexpr double kSignificant = 0.05;

const char* test_name(PairedTest test) {
  return test == PairedTest::bootstrap ? "paired bootstrap" : "paired approximate randomization";
}

// Returns the metric's signature with the settings of the resampling inserted: "nrefs:1|bs:1000|seed:12345|case:...".
std::string signature(const BleuReport& report, const Metric& metric) {
  std::string fields;
  if (report.num_resamples > 0) fields += fmt::format("bs:{}|", report.num_resamples);
  if (report.test == PairedTest::randomisation) fields += fmt::format("ar:{}|", report.num_trials);
  if (!fields.empty()) fields += fmt::format("seed:{}|", report.seed);
  std::string text = metric.signature;
  return text.insert(text.find('|') + 1, fields);
}

// A score that equals the baseline's score is never significant, even if no sample shows a larger difference.
bool is_significant(const MetricReport& metric, size_t system) {
  const SystemResult& result = metric.results[system];
  return result.p_value && *result.p_value < kSignificant && result.score != metric.results[0].score;
}

std::string interval_text(const Interval& interval, int num_digits) {
  return fmt::format("{:.{}f} ± {:.{}f}", interval.mean, num_digits, interval.half_width, num_digits);
}

// Inserts the complete signature and the interval into the metric's line: "BLEU|... = 27.3 (μ = 27.3 ± 0.8) 58.1/...".
std::string single_line(const BleuReport& report, const MetricReport& m, int num_digits) {
  std::string line = m.metric.line(m.sums[0], num_digits);
  line.replace(line.find(m.metric.signature), m.metric.signature.size(), signature(report, m.metric));
  if (!m.results[0].interval) return line + "\n";
  const size_t score = line.find(" = ") + 3, after_score = std::min(line.find(' ', score), line.size());
  return line.insert(after_score, fmt::format(" (μ = {})", interval_text(*m.results[0].interval, num_digits))) + "\n";
}

std::vector<std::string> labels(const BleuReport& report) {
  std::vector<std::string> names;
  for (const std::string& file : report.systems) names.push_back(std::filesystem::path(file).filename().string());
  if (std::set<std::string>(names.begin(), names.end()).size() < names.size()) names = report.systems;
  return names;
}

using Row = std::vector<std::string>;

size_t columns(const std::string& text) { return static_cast<size_t>(num_characters(text)); }

std::string table(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  std::string text;
  for (const Row& row : rows) {
    std::string line = row[0] + std::string(widths[0] - columns(row[0]), ' ');
    for (size_t i = 1; i < row.size(); ++i) line += "  " + std::string(widths[i] - columns(row[i]), ' ') + row[i];
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string signature_line(const BleuReport& report, const Metric& metric) {
  return fmt::format("{}|{}\n", metric.name, signature(report, metric));
}

std::string table_of_scores(const BleuReport& report, int num_digits) {
  std::vector<Row> rows{{"system"}};
  for (const MetricReport& m : report.metrics) rows[0].push_back(m.metric.name);
  const std::vector<std::string> names = labels(report);
  for (size_t s = 0; s < names.size(); ++s) {
    rows.push_back({names[s]});
    for (const MetricReport& m : report.metrics)
      rows.back().push_back(fmt::format("{:.{}f}", m.results[s].score, num_digits));
  }
  std::string text = table(rows) + "\n";
  for (const MetricReport& m : report.metrics) text += signature_line(report, m.metric);
  return text;
}

std::string table_of_metric(const BleuReport& report, const MetricReport& m, int num_digits) {
  const bool is_paired = report.test != PairedTest::none;
  std::vector<Row> rows{{"system", m.metric.name}};
  if (report.num_resamples > 0) rows[0].push_back("μ ± 95 %");
  if (is_paired) rows[0].insert(rows[0].end(), {"p", " "});
  std::vector<std::string> names = labels(report);
  if (is_paired) names[0] += " (baseline)";
  for (size_t s = 0; s < names.size(); ++s) {
    const SystemResult& result = m.results[s];
    Row row{names[s], fmt::format("{:.{}f}", result.score, num_digits)};
    if (result.interval) row.push_back(interval_text(*result.interval, num_digits));
    if (is_paired) row.push_back(result.p_value ? fmt::format("{:.4f}", *result.p_value) : "");
    if (is_paired) row.push_back(is_significant(m, s) ? "*" : "");
    rows.push_back(std::move(row));
  }
  return signature_line(report, m.metric) + table(rows) + "\n";
}

nlohmann::json metric_json(const BleuReport& report, const MetricReport& m, size_t system) {
  nlohmann::json json = m.metric.json(m.sums[system]);
  json["signature"] = signature(report, m.metric);
  const SystemResult& result = m.results[system];
  if (result.interval)
    json["confidence"] = {{"mean", result.interval->mean}, {"half_width", result.interval->half_width}};
  if (result.p_value) {
    json["p_value"] = *result.p_value;
    json["significant"] = is_significant(m, system);
  }
  return json;
}

}  // namespace

std::string to_text(const BleuReport& report, int num_digits) {
  std::string text;
  if (report.systems.size() == 1) {
    for (const MetricReport& m : report.metrics) text += single_line(report, m, num_digits);
    return text;
  }
  if (report.num_resamples == 0 && report.test == PairedTest::none) return table_of_scores(report, num_digits);
  for (const MetricReport& m : report.metrics) text += table_of_metric(report, m, num_digits);
  if (report.test == PairedTest::none) {
    text.pop_back();  // the empty line after the last table
    return text;
  }
  return text + fmt::format(
                    "p: probability that chance alone makes a larger difference from the baseline {}; *: p < {}\n"
                    "({}, {} trials, seed {})\n",
                    labels(report)[0], kSignificant, test_name(report.test), report.num_trials, report.seed);
}

std::string to_json_text(const BleuReport& report) {
  nlohmann::json json{{"segments", report.num_segments}};
  if (report.systems.size() == 1) {
    for (const MetricReport& m : report.metrics) json[m.metric.key] = metric_json(report, m, 0);
    return json.dump(2);
  }
  for (size_t s = 0; s < report.systems.size(); ++s) {
    nlohmann::json system{{"name", report.systems[s]}};
    for (const MetricReport& m : report.metrics) system[m.metric.key] = metric_json(report, m, s);
    json["systems"].push_back(std::move(system));
  }
  if (report.test != PairedTest::none)
    json["test"] = {{"name", test_name(report.test)},
                    {"baseline", report.systems[0]},
                    {"trials", report.num_trials},
                    {"seed", report.seed}};
  return json.dump(2);
}

std::string sentences_to_text(const std::vector<SentenceScores>& metrics, int num_digits) {
  std::string text;
  for (int64_t i = 0; i < metrics.front().stats.num_segments(); ++i)
    for (const auto& [metric, stats] : metrics) text += metric.line(stats.row(i), num_digits) + "\n";
  return text;
}

std::string sentences_to_json_lines(const std::vector<SentenceScores>& metrics) {
  std::string text;
  for (int64_t i = 0; i < metrics.front().stats.num_segments(); ++i) {
    nlohmann::ordered_json sentence{{"segment", i + 1}};
    for (const auto& [metric, stats] : metrics) sentence[metric.key] = metric.json(stats.row(i));
    text += sentence.dump() + "\n";
  }
  return text;
}

}  // namespace weft
