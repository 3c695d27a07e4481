// launch/reports/bleu_report.h: results of `weft bleu` as lines and tables, or as JSON.
//
// One system: a line for each metric, in sacreBLEU's format. Several: a table with a line for each system or,
// with intervals and p-values, one such table for each metric.
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
  std::vector<std::vector<double>> sums;  // of each system
  std::vector<SystemResult> results;      // of each system
};

struct BleuReport {
  std::vector<std::string> systems;  // their files; of a paired test the first is the baseline
  int64_t num_segments = 0;
  PairedTest test = PairedTest::none;
  int64_t num_trials = 0;     // of the test
  int64_t num_resamples = 0;  // of the intervals; 0: no intervals
  uint64_t seed = 0;
  std::vector<MetricReport> metrics;
};

std::string to_text(const BleuReport& report, int num_digits);
std::string to_json_text(const BleuReport& report);

}  // namespace weft
