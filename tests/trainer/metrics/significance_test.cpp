// tests/trainer/metrics/significance_test.cpp: sacreBLEU's numbers for BLEU, and properties of all sampling
// tests.
#include "trainer/metrics/significance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "trainer/metrics/bleu.h"

namespace weft::testing {
namespace {

const nlohmann::json& significance_reference() {
  static const nlohmann::json reference =
      nlohmann::json::parse(std::ifstream(WEFT_SOURCE_DIR "/tests/reference/sacrebleu_significance.json"));
  return reference;
}

SegmentStats bleu_segments(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references) {
  SegmentStats stats{.width = 10, .values = {}};
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const BleuStats s = bleu_stats(hypotheses[i], {references[i]});
    for (const int64_t number : {s.hypothesis_length, s.reference_length}) stats.values.push_back(number);
    stats.values.insert(stats.values.end(), s.correct.begin(), s.correct.end());
    stats.values.insert(stats.values.end(), s.total.begin(), s.total.end());
  }
  return stats;
}

double bleu_of_sums(std::span<const double> sums) {
  BleuStats s{.hypothesis_length = std::lround(sums[0]), .reference_length = std::lround(sums[1])};
  for (int n = 0; n < 4; ++n) s.correct[n] = std::lround(sums[2 + n]), s.total[n] = std::lround(sums[6 + n]);
  return bleu_from_stats(s, 1).score;
}

const SystemStats& bleu_systems() {
  static const SystemStats stats = [] {
    SystemStats made{.score = bleu_of_sums, .systems = {}};
    for (const char* name : {"a", "b", "c"})
      made.systems.push_back(bleu_segments(significance_reference()[name], significance_reference()["references"][0]));
    return made;
  }();
  return stats;
}

// sacreBLEU's precisions are f32 within samples, so 7 digits agree, and the counts of p exactly.
void expect_like_sacrebleu(const std::vector<SystemResult>& results, const nlohmann::json& expected) {
  ASSERT_EQ(results.size(), expected.size());
  for (size_t s = 0; s < results.size(); ++s) {
    EXPECT_NEAR(results[s].score, expected[s]["score"].get<double>(), 1e-9);
    ASSERT_EQ(results[s].interval.has_value(), !expected[s]["mean"].is_null());
    if (results[s].interval) {
      EXPECT_NEAR(results[s].interval->mean, expected[s]["mean"].get<double>(), 1e-5);
      EXPECT_NEAR(results[s].interval->half_width, expected[s]["half_width"].get<double>(), 1e-5);
    }
    ASSERT_EQ(results[s].p_value.has_value(), !expected[s]["p"].is_null());
    if (results[s].p_value) {
      EXPECT_DOUBLE_EQ(*results[s].p_value, expected[s]["p"].get<double>());
    }
  }
}

// One number for each segment; the score is their mean.
SystemStats mean_of(const std::vector<std::vector<double>>& systems) {
  SystemStats stats{.score = [n = systems[0].size()](auto sums) { return sums[0] / static_cast<double>(n); },
                    .systems = {}};
  for (const auto& values : systems) stats.systems.push_back({.width = 1, .values = values});
  return stats;
}

TEST(Significance, PairedBootstrapIsSacrebleus) {
  const auto& expected = significance_reference()["cases"][0];
  ASSERT_EQ(expected["name"], "bleu");
  expect_like_sacrebleu(paired_bootstrap(bleu_systems(), {}), expected["paired_bs"]);
}

TEST(Significance, PairedRandomisationIsSacrebleus) {
  expect_like_sacrebleu(paired_randomisation(bleu_systems(), {.count = 10000}),
                        significance_reference()["cases"][0]["paired_ar"]);
}

TEST(Significance, IntervalsAreThoseOfThePairedTestWithoutItsComparison) {
  const auto paired = paired_bootstrap(bleu_systems(), {}), single = bootstrap_intervals(bleu_systems(), {});
  for (size_t s = 0; s < paired.size(); ++s) {
    EXPECT_EQ(single[s].interval->mean, paired[s].interval->mean);
    EXPECT_EQ(single[s].interval->half_width, paired[s].interval->half_width);
    EXPECT_FALSE(single[s].p_value);
  }
}

TEST(Significance, TheIntervalLeavesOutAFortiethOnEachSide) {
  std::vector<double> scores(80);
  std::iota(scores.rbegin(), scores.rend(), 0.0);
  const Interval interval = confidence_interval(scores);
  EXPECT_EQ(interval.mean, 39.5);
  EXPECT_EQ(interval.half_width, (77.0 - 2.0) / 2);
}

TEST(Significance, OneSegmentHasAnIntervalOfNoWidth) {
  const auto results = bootstrap_intervals(mean_of({{3}}), {.count = 50});
  EXPECT_EQ(results[0].interval->mean, 3);
  EXPECT_EQ(results[0].interval->half_width, 0);
}

TEST(Significance, TheIntervalIsAboutTwoStandardErrors) {
  std::vector<double> values(400);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 2 ? 1 : -1;
  const auto results = bootstrap_intervals(mean_of({values}), {.count = 4000});
  EXPECT_NEAR(results[0].interval->half_width, 1.96 / std::sqrt(400.0), 0.005);
}

TEST(Significance, AConstantGainIsSignificantAndNoiseIsNot) {
  std::vector<double> baseline(100), better(100), noisy(100);
  for (size_t i = 0; i < 100; ++i) {
    baseline[i] = static_cast<double>(i % 7);
    better[i] = baseline[i] + 1;
    noisy[i] = baseline[i] + (i % 2 ? 3 : -2.9);
  }
  for (const auto test : {paired_bootstrap, paired_randomisation}) {
    const auto results = test(mean_of({baseline, better, noisy}), {.count = 1000});
    EXPECT_FALSE(results[0].p_value);
    EXPECT_EQ(*results[1].p_value, 1.0 / 1001);
    EXPECT_GT(*results[2].p_value, 0.3);
  }
}

TEST(Significance, EqualSystemsDifferInNoSample) {
  for (const auto test : {paired_bootstrap, paired_randomisation})
    EXPECT_EQ(*test(mean_of({{1, 2, 3}, {1, 2, 3}}), {.count = 9})[1].p_value, 1.0 / 10);
}

TEST(Significance, TheSeedDecides) {
  const auto once = paired_bootstrap(bleu_systems(), {.count = 100, .seed = 1});
  const auto again = paired_bootstrap(bleu_systems(), {.count = 100, .seed = 1});
  const auto other = paired_bootstrap(bleu_systems(), {.count = 100, .seed = 2});
  EXPECT_EQ(once[1].interval->mean, again[1].interval->mean);
  EXPECT_NE(once[1].interval->mean, other[1].interval->mean);
}

TEST(Significance, ProgressCountsEverySample) {
  int64_t calls = 0, last = 0;
  paired_randomisation(mean_of({{1, 2}, {2, 1}}),
                       {.count = 20, .progress = [&](int64_t done) { ++calls, last = done; }});
  EXPECT_EQ(calls, 20);
  EXPECT_EQ(last, 20);
}

}  // namespace
}  // namespace weft::testing
