// trainer/metrics/significance.h: computes confidence intervals and paired significance tests by resampling.
//
// A metric keeps a few numbers per segment, and the score of a corpus or a sample depends only on their sums. Bootstrap
// resampling (Koehn 2004) draws segments with replacement. Each sample is as large as the test set and the same for all
// systems. Approximate randomization (Riezler & Maxwell 2005) flips a coin per segment to decide whether baseline and
// system exchange their outputs. The random numbers and p = (c + 1) / (n + 1) are those of sacreBLEU, but all sums and
// scores are f64, while sacreBLEU uses f32 for some of them. docs/metrics.md explains the results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace weft {

struct SegmentStats {          // for one system
  int64_t width = 0;           // numbers per segment
  std::vector<double> values;  // [segments, width]

  int64_t num_segments() const { return std::ssize(values) / width; }
  std::span<const double> row(int64_t segment) const { return std::span(values).subspan(segment * width, width); }
};
std::vector<double> sum_of_segments(const SegmentStats& stats);

struct SystemStats {  // for one metric; all systems have the same segments
  std::function<double(std::span<const double> sums)> score;
  std::vector<SegmentStats> systems;  // in paired tests, the first system is the baseline
};

struct Resampling {
  int64_t count = 1000;
  uint64_t seed = 12345;
  std::function<void(int64_t done)> progress = [](int64_t) {};
};

struct Interval {  // about 95 % of the samples' scores are within mean +- half_width
  double mean = 0, half_width = 0;
};
Interval confidence_interval(std::vector<double> scores);

struct SystemResult {
  double score = 0;
  std::optional<Interval> interval;  // from bootstrap resampling
  std::optional<double> p_value;     // for the difference from the baseline; absent for the baseline
};

// Each function returns one result per system, in order.
std::vector<SystemResult> bootstrap_intervals(const SystemStats& stats, const Resampling& resampling);
std::vector<SystemResult> paired_bootstrap(const SystemStats& stats, const Resampling& resampling);
std::vector<SystemResult> paired_randomisation(const SystemStats& stats, const Resampling& resampling);

}  // namespace weft
