// launch/reports/metric.cpp: converts each metric's statistics to a row of numbers and back.
#include "launch/reports/metric.h"

#include <cmath>

#include "trainer/metrics/references.h"

namespace weft {
namespace {

std::vector<double> to_numbers(const BleuStats& s) {
  std::vector<double> numbers{static_cast<double>(s.hypothesis_length), static_cast<double>(s.reference_length)};
  numbers.insert(numbers.end(), s.correct.begin(), s.correct.end());
  numbers.insert(numbers.end(), s.total.begin(), s.total.end());
  return numbers;
}

BleuStats bleu_of(Sums sums) {
  BleuStats stats{.hypothesis_length = std::llround(sums[0]), .reference_length = std::llround(sums[1])};
  for (int n = 0; n < BleuStats::kMaxOrder; ++n) {
    stats.correct[n] = std::llround(sums[2 + n]);
    stats.total[n] = std::llround(sums[2 + BleuStats::kMaxOrder + n]);
  }
  return stats;
}

std::vector<double> to_numbers(const ChrfStats& s) {
  std::vector<double> numbers;
  for (const ChrfStats::Order& order : s.orders)
    for (const int64_t count : {order.hypothesis, order.reference, order.matches})
      numbers.push_back(static_cast<double>(count));
  return numbers;
}

ChrfStats chrf_of(Sums sums) {
  ChrfStats stats;
  for (size_t n = 0; n < stats.orders.size(); ++n)
    stats.orders[n] = {.hypothesis = std::llround(sums[3 * n]),
                       .reference = std::llround(sums[3 * n + 1]),
                       .matches = std::llround(sums[3 * n + 2])};
  return stats;
}

std::vector<double> to_numbers(const TerStats& s) { return {static_cast<double>(s.edits), s.reference_length}; }

TerStats ter_of(Sums sums) { return {.edits = std::llround(sums[0]), .reference_length = sums[1]}; }

nlohmann::json to_json(const BleuScore& bleu) {
  return {{"score", bleu.score},
          {"signature", bleu.signature},
          {"precisions", bleu.precisions},
          {"brevity_penalty", bleu.brevity_penalty},
          {"ratio", bleu.ratio},
          {"hypothesis_length", bleu.stats.hypothesis_length},
          {"reference_length", bleu.stats.reference_length}};
}

nlohmann::json to_json(const ChrfScore& chrf) {
  return {{"name", chrf.name}, {"score", chrf.score}, {"signature", chrf.signature}};
}

nlohmann::json to_json(const TerScore& ter) {
  return {{"score", ter.score},
          {"signature", ter.signature},
          {"edits", ter.stats.edits},
          {"reference_length", ter.stats.reference_length}};
}

template <typename StatsOfSegment, typename ScoreOfSums>
Metric make_metric(std::string key, std::string name, std::string signature, StatsOfSegment stats_of_segment,
                   ScoreOfSums score_of_sums) {
  return {.key = std::move(key),
          .name = std::move(name),
          .signature = std::move(signature),
          .segment =
              [=](std::string_view hypothesis, const std::vector<std::string_view>& references) {
                return to_numbers(stats_of_segment(hypothesis, references));
              },
          .score = [=](Sums sums) { return score_of_sums(sums).score; },
          .line = [=](Sums sums, int num_digits) { return format(score_of_sums(sums), num_digits); },
          .json = [=](Sums sums) { return to_json(score_of_sums(sums)); }};
}

}  // namespace

Metric bleu_metric(const BleuOptions& options, int num_references) {
  return make_metric(
      "bleu", "BLEU", bleu_from_stats({}, num_references, options).signature,
      [=](std::string_view h, const auto& r) { return bleu_stats(h, r, options); },
      [=](Sums sums) { return bleu_from_stats(bleu_of(sums), num_references, options); });
}

Metric chrf_metric(const ChrfOptions& options, int num_references) {
  const ChrfScore nothing = chrf_from_stats({}, num_references, options);
  return make_metric(
      "chrf", nothing.name, nothing.signature,
      [=](std::string_view h, const auto& r) { return chrf_stats(h, r, options); },
      [=](Sums sums) { return chrf_from_stats(chrf_of(sums), num_references, options); });
}

Metric ter_metric(const TerOptions& options, int num_references) {
  return make_metric(
      "ter", "TER", ter_from_stats({}, num_references, options).signature,
      [=](std::string_view h, const auto& r) { return ter_stats(h, r, options); },
      [=](Sums sums) { return ter_from_stats(ter_of(sums), num_references, options); });
}

SegmentStats segment_stats(const Metric& metric, const std::vector<std::string>& hypotheses,
                           const std::vector<std::vector<std::string>>& references,
                           const std::function<void()>& segment_done) {
  SegmentStats stats;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const std::vector<double> numbers = metric.segment(hypotheses[i], references_of_segment(references, i));
    stats.width = std::ssize(numbers);
    stats.values.insert(stats.values.end(), numbers.begin(), numbers.end());
    segment_done();
  }
  return stats;
}

}  // namespace weft
