// trainer/metrics/significance.h: could it be chance? Confidence intervals and paired tests over the segments of a test
// set.
//
// A metric keeps a few numbers of each segment; the score of a corpus comes from their sums alone, so the score of any
// sample of segments does, too. Bootstrap (Koehn 2004): samples of as many segments, drawn with replacement, the same
// for all systems. Approximate randomisation (Riezler & Maxwell 2005): each segment's outputs are exchanged between
// baseline and system, or not, by a coin. Random numbers, order and p = (c + 1) / (n + 1) are sacreBLEU's; all
// arithmetic is f64 (there, sums of samples and some scores are f32). docs/metrics.md says what the results mean.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace weft {

struct SegmentStats {          // of one system
  int64_t width = 0;           // numbers a segment
  std::vector<double> values;  // [segments, width]

  int64_t num_segments() const { return std::ssize(values) / width; }
  std::span<const double> row(int64_t segment) const { return std::span(values).subspan(segment * width, width); }
};
std::vector<double> sum_of_segments(const SegmentStats& stats);

struct SystemStats {  // by one metric; all systems have the same segments
  std::function<double(std::span<const double> sums)> score;
  std::vector<SegmentStats> systems;  // of the paired tests, the first is the baseline
};

struct Resampling {
  int64_t count = 1000;
  uint64_t seed = 12345;
  std::function<void(int64_t done)> progress = [](int64_t) {};
};

struct Interval {  // 95 % of the samples lie in mean +- half_width, about
  double mean = 0, half_width = 0;
};
Interval confidence_interval(std::vector<double> scores);

struct SystemResult {
  double score = 0;
  std::optional<Interval> interval;  // by bootstrap
  std::optional<double> p_value;     // of the difference from the baseline, which has none itself
};

// One result a system, in order.
std::vector<SystemResult> bootstrap_intervals(const SystemStats& stats, const Resampling& resampling);
std::vector<SystemResult> paired_bootstrap(const SystemStats& stats, const Resampling& resampling);
std::vector<SystemResult> paired_randomisation(const SystemStats& stats, const Resampling& resampling);

}  // namespace weft
