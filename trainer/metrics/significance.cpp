// trainer/metrics/significance.cpp: scores samples, and counts how often systems differ more than on the real data.
#include "trainer/metrics/significance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tensor/error.h"
#include "trainer/metrics/numpy_random.h"

namespace weft {
namespace {

void add(std::span<const double> row, std::vector<double>& sums) {
  for (size_t i = 0; i < row.size(); ++i) sums[i] += row[i];
}

int64_t checked_segments(const SystemStats& stats, const Resampling& resampling) {
  require(!stats.systems.empty() && stats.systems[0].width > 0 && resampling.count > 0, ErrorKind::internal,
          "resampling needs at least one system, one number per segment and one sample");
  const int64_t num_segments = stats.systems[0].num_segments();
  for (const SegmentStats& system : stats.systems)
    require(system.num_segments() == num_segments, ErrorKind::internal, "the systems have different segments");
  require(num_segments > 0 && num_segments < std::numeric_limits<uint32_t>::max(), ErrorKind::internal,
          "the number of segments is 0 or above 2^32");
  return num_segments;
}

std::vector<SystemResult> real_scores(const SystemStats& stats) {
  std::vector<SystemResult> results;
  for (const SegmentStats& system : stats.systems) results.push_back({.score = stats.score(sum_of_segments(system))});
  return results;
}

// Returns scores[system][sample]. A sample consists of the same segments for all systems.
std::vector<std::vector<double>> bootstrap_scores(const SystemStats& stats, const Resampling& resampling) {
  const int64_t num_segments = checked_segments(stats, resampling);
  NumpyRandom random(resampling.seed);
  std::vector<uint32_t> drawn(num_segments);
  std::vector<std::vector<double>> scores(stats.systems.size());
  for (int64_t sample = 0; sample < resampling.count; ++sample) {
    for (uint32_t& segment : drawn) segment = random.below(static_cast<uint32_t>(num_segments));
    for (size_t s = 0; s < scores.size(); ++s) {
      std::vector<double> sums(stats.systems[s].width);
      for (const uint32_t segment : drawn) add(stats.systems[s].row(segment), sums);
      scores[s].push_back(stats.score(sums));
    }
    resampling.progress(sample + 1);
  }
  return scores;
}

// Returns the probability p that chance causes a difference above the real difference. Adding 1 keeps p above 0.
double p_value(const std::vector<double>& differences, double real_difference) {
  const auto exceeds = [&](double difference) { return difference > real_difference; };
  const auto count = std::count_if(differences.begin(), differences.end(), exceeds);
  return static_cast<double>(count + 1) / static_cast<double>(differences.size() + 1);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

SegmentStats difference(const SegmentStats& a, const SegmentStats& b) {
  SegmentStats result = a;
  for (size_t i = 0; i < result.values.size(); ++i) result.values[i] -= b.values[i];
  return result;
}

}  // namespace

std::vector<double> sum_of_segments(const SegmentStats& stats) {
  std::vector<double> sums(stats.width);
  for (int64_t i = 0; i < stats.num_segments(); ++i) add(stats.row(i), sums);
  return sums;
}

Interval confidence_interval(std::vector<double> scores) {
  std::sort(scores.begin(), scores.end());
  const size_t cut = scores.size() / 40;  // 2.5 % on each side
  return {.mean = mean(scores), .half_width = (scores[scores.size() - cut - 1] - scores[cut]) / 2};
}

std::vector<SystemResult> bootstrap_intervals(const SystemStats& stats, const Resampling& resampling) {
  const std::vector<std::vector<double>> scores = bootstrap_scores(stats, resampling);
  std::vector<SystemResult> results = real_scores(stats);
  for (size_t s = 0; s < results.size(); ++s) results[s].interval = confidence_interval(scores[s]);
  return results;
}

std::vector<SystemResult> paired_bootstrap(const SystemStats& stats, const Resampling& resampling) {
  const std::vector<std::vector<double>> scores = bootstrap_scores(stats, resampling);
  std::vector<SystemResult> results = real_scores(stats);
  for (size_t s = 0; s < results.size(); ++s) {
    results[s].interval = confidence_interval(scores[s]);
    if (s == 0) continue;
    std::vector<double> differences;
    for (size_t i = 0; i < scores[s].size(); ++i) differences.push_back(std::abs(scores[s][i] - scores[0][i]));
    // The differences are centered on the real difference, but under the null hypothesis they must be centered on 0.
    const double center = mean(differences);
    for (double& d : differences) d -= center;
    results[s].p_value = p_value(differences, std::abs(results[s].score - results[0].score));
  }
  return results;
}

std::vector<SystemResult> paired_randomisation(const SystemStats& stats, const Resampling& resampling) {
  const int64_t num_segments = checked_segments(stats, resampling);
  std::vector<SystemResult> results = real_scores(stats);
  const size_t num_systems = results.size(), width = stats.systems[0].width;
  const std::vector<double> baseline = sum_of_segments(stats.systems[0]);
  std::vector<std::vector<double>> totals, differences(num_systems);
  std::vector<SegmentStats> changes;  // system - baseline; exchanging a segment adds its row to the baseline's sums
  for (const SegmentStats& system : stats.systems) {
    totals.push_back(sum_of_segments(system));
    changes.push_back(difference(system, stats.systems[0]));
  }

  NumpyRandom random(resampling.seed);
  CoinFlips coins(random);
  std::vector<int64_t> exchanged;
  for (int64_t trial = 0; trial < resampling.count; ++trial) {
    exchanged.clear();
    for (int64_t i = 0; i < num_segments; ++i)
      if (!coins.next()) exchanged.push_back(i);
    for (size_t s = 1; s < num_systems; ++s) {
      std::vector<double> change(width), a = baseline, b = totals[s];
      for (const int64_t segment : exchanged) add(changes[s].row(segment), change);
      for (size_t i = 0; i < width; ++i) a[i] += change[i], b[i] -= change[i];
      differences[s].push_back(std::abs(stats.score(a) - stats.score(b)));
    }
    resampling.progress(trial + 1);
  }
  for (size_t s = 1; s < num_systems; ++s)
    results[s].p_value = p_value(differences[s], std::abs(results[s].score - results[0].score));
  return results;
}

}  // namespace weft
