// launch/reports/bleu_report.h: formats the results of `weft bleu` as lines and tables, or as JSON.
//
// For one system, the text contains one line per metric in sacreBLEU's format. For several systems, the text is a table
// with one line per system. If there are intervals or p-values, there is one table per metric.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/reports/metric.h"
#include "trainer/metrics/significance.h"

namespace weft {

enum class PairedTest : uint8_t { none, bootstrap, randomisation };

struct MetricReport {
  Metric metric;
  std::vector<std::vector<double>> sums;  // [system][number]
  std::vector<SystemResult> results;      // [system]
};

struct BleuReport {
  std::vector<std::string> systems;  // file names; in a paired test the first is the baseline
  int64_t num_segments = 0;
  PairedTest test = PairedTest::none;
  int64_t num_trials = 0;     // trials of the test
  int64_t num_resamples = 0;  // resamples for the intervals; 0: no intervals
  uint64_t seed = 0;
  std::vector<MetricReport> metrics;
};

std::string to_text(const BleuReport& report, int num_digits);
std::string to_json_text(const BleuReport& report);

struct SentenceScores {  // of one metric; all metrics have the same sentences
  Metric metric;
  SegmentStats stats;
};
// Returns one line per sentence and metric, in sacreBLEU's format, or one JSON object per sentence and line.
std::string sentences_to_text(const std::vector<SentenceScores>& metrics, int num_digits);
std::string sentences_to_json_lines(const std::vector<SentenceScores>& metrics);

}  // namespace weft
