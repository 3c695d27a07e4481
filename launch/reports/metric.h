// launch/reports/metric.h: defines one interface for BLEU, chrF and TER: statistics per segment, and scores of sums.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/metrics/bleu.h"
#include "trainer/metrics/chrf.h"
#include "trainer/metrics/significance.h"
#include "trainer/metrics/ter.h"

namespace weft {

using Sums = std::span<const double>;

struct Metric {
  std::string key;        // name on the command line and in JSON: bleu, chrf, ter
  std::string name;       // printed name: BLEU, chrF2++, TER
  std::string signature;  // contains all settings that affect the score
  std::function<std::vector<double>(std::string_view hypothesis, const std::vector<std::string_view>& references)>
      segment;
  std::function<double(Sums)> score;
  std::function<std::string(Sums, int num_digits)> line;  // name, signature, score and its details
  std::function<nlohmann::json(Sums)> json;
};

Metric bleu_metric(const BleuOptions& options, int num_references);
Metric chrf_metric(const ChrfOptions& options, int num_references);
Metric ter_metric(const TerOptions& options, int num_references);

// references[r][i] is the r-th reference of segment i; `segment_done` is called after each segment.
SegmentStats segment_stats(const Metric& metric, const std::vector<std::string>& hypotheses,
                           const std::vector<std::vector<std::string>>& references,
                           const std::function<void()>& segment_done);

}  // namespace weft
