// trainer/metrics/significance.h: confidence intervals and paired significance tests over the segments of a
// test set.
//
// A metric keeps a few numbers for each segment; the score of a corpus or a sample depends only on their
// sums. Bootstrap (Koehn 2004): samples of as many segments, drawn with replacement, the same for all
// systems. Approximate randomisation (Riezler & Maxwell 2005): a coin decides for each segment whether
// baseline and system exchange their outputs. Random numbers, order and p = (c + 1) / (n + 1) are
// sacreBLEU's; all arithmetic is f64 (sacreBLEU uses f32 for sums of samples and some scores).
// docs/metrics.md explains the results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace weft {

struct SegmentStats {          // of one system
  int64_t width = 0;           // numbers per segment
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

struct Interval {  // about 95 % of the samples are within mean +- half_width
  double mean = 0, half_width = 0;
};
Interval confidence_interval(std::vector<double> scores);

struct SystemResult {
  double score = 0;
  std::optional<Interval> interval;  // by bootstrap
  std::optional<double> p_value;     // of the difference from the baseline; none for the baseline
};

// One result for each system, in order.
std::vector<SystemResult> bootstrap_intervals(const SystemStats& stats, const Resampling& resampling);
std::vector<SystemResult> paired_bootstrap(const SystemStats& stats, const Resampling& resampling);
std::vector<SystemResult> paired_randomisation(const SystemStats& stats, const Resampling& resampling);

}  // namespace weft
