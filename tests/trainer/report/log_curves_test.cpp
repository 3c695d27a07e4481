// tests/trainer/report/log_curves_test.cpp: curves of a log, and names of runs.
#include "trainer/report/log_curves.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace weft {
namespace {

using Points = std::vector<std::pair<double, double>>;

std::vector<nlohmann::json> log_of_a_mix() {
  return {
      {{"step", 0}, {"schema", 2}, {"dp", 1}},
      {{"step", 1},
       {"loss", 6.0},
       {"seconds", 36},
       {"target_tokens", 720},
       {"corpus_nll", {{"p/a", 5.0}, {"b", nullptr}}}},
      {{"step", 1}, {"valid_loss", 5.5}, {"news.bleu", 3.0}, {"time", 1e9}},
      {{"step", 1}, {"rolled_back_to", 0}},
      {{"step", 2}, {"loss", nullptr}, {"seconds", 36}, {"target_tokens", 360}, {"epochs", {{"p/a", 0}, {"b", 1}}}}};
}

ChartSeries curve_of(const std::vector<nlohmann::json>& log, const std::string& name, CurveAxis axis) {
  LogCurves curves({name}, axis);
  for (const nlohmann::json& record : log) curves.add(record);
  return curves.take().at(0);
}

TEST(LogCurves, AreOverStepsTokensOrHours) {
  const auto log = log_of_a_mix();
  EXPECT_EQ(curve_of(log, "target_tokens_per_second", CurveAxis::step).points, (Points{{1, 20}, {2, 10}}));
  EXPECT_EQ(curve_of(log, "target_tokens_per_second", CurveAxis::tokens).points, (Points{{720, 20}, {1080, 10}}));
  EXPECT_EQ(curve_of(log, "news.bleu", CurveAxis::hours).points, (Points{{0.01, 3}}));
  EXPECT_EQ(curve_of(log, "loss", CurveAxis::step).points, (Points{{1, 6}})) << "null: not finite";
}

TEST(LogCurves, HaveTheCorporaOfAMix) {
  const auto log = log_of_a_mix();
  EXPECT_EQ(curve_of(log, "corpus_nll.p/a", CurveAxis::step).points, (Points{{1, 5}}));
  EXPECT_EQ(curve_of(log, "epochs.b", CurveAxis::step).points, (Points{{2, 1}}));
  std::set<std::string> names;
  for (const nlohmann::json& record : log)
    for (const auto& [name, value] : drawable_numbers(record)) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"corpus_nll.p/a", "epochs.b", "epochs.p/a", "loss", "news.bleu", "seconds",
                                          "target_tokens", "target_tokens_per_second", "valid_loss"}));
}

TEST(DistinctNames, AreTheShortestEndsOfPathsThatDiffer) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(distinct_names({"runs/a", "runs/b/"}), (Names{"a", "b"}));
  EXPECT_EQ(distinct_names({"/d/x/run", "/d/y/run", "/d/z"}), (Names{"x/run", "y/run", "d/z"}));
  EXPECT_EQ(distinct_names({"/run", "/x/run"}), (Names{"/run", "x/run"}));
  EXPECT_EQ(distinct_names({"run", "./run", "run/"}), (Names{"run", "run", "run"}));
}

}  // namespace
}  // namespace weft
