// tests/trainer/metrics/chrf_test.cpp: sacreBLEU's scores and printed lines, sums over parts.
#include "trainer/metrics/chrf.h"

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tests/trainer/metrics/sacrebleu_cases.h"

namespace weft::testing {
namespace {

TEST(Chrf, EqualsSacrebleuOnEveryCaseAndOption) {
  const auto& cases = sacrebleu_cases()["cases"];
  ASSERT_GE(cases.size(), 60u);
  for (const auto& c : cases) {
    for (const auto& [name, options] : kChrfOptionSets) {
      const std::string where = c["name"].get<std::string>() + ", " + name;
      expect_score(chrf(c["hypotheses"], c["references"], options), c["scores"][name], where);
    }
  }
}

TEST(Chrf, SignatureHasSacrebleusFieldsAndOurName) {
  for (const auto& [name, options] : kChrfOptionSets) {
    expect_signature(chrf({"a"}, {{"a"}, {"b"}}, options), sacrebleu_cases()["signatures"][name]);
  }
}

TEST(Chrf, ReferencesMayBeMissing) {
  for (const auto& c : sacrebleu_cases()["variable_references"]) {
    for (const auto& [name, options] : kChrfOptionSets) {
      const ChrfStats sum =
          sum_of_segments(c, [&](const std::string& hypothesis, const std::vector<std::string_view>& references) {
            return chrf_stats(hypothesis, references, options);
          });
      const ChrfScore score = chrf_from_stats(sum, kVariableReferences, options);
      expect_score(score, c["scores"][name], c["name"].get<std::string>() + ", " + name);
      expect_signature(score, sacrebleu_cases()["signatures_of_variable_references"][name]);
    }
  }
}

// Published one-line cases, to its four digits.
TEST(Chrf, GoldenScores) {
  EXPECT_NEAR(chrf({"the cat sat on the mat ."}, {{"the cat sat on a mat ."}}).score, 71.4225, 5e-5);
  EXPECT_NEAR(chrf({"a b c d"}, {{"a b x d"}}).score, 27.0833, 5e-5);
  EXPECT_EQ(chrf({"a b c d e"}, {{"x y"}}).score, 0);
  EXPECT_EQ(chrf({""}, {{""}}).score, 0);
}

TEST(Chrf, StatsOfPartsAddUpToTheWhole) {
  const std::vector<std::string> hypotheses = {"ein Hund", "", "(zwei) Katzen!"};
  const std::vector<std::string> reference = {"ein Huhn", "x", "(zwei) Kater!"};
  const ChrfOptions options{.word_order = 2};
  ChrfStats sum;
  for (size_t i = 0; i < hypotheses.size(); ++i) sum += chrf_stats(hypotheses[i], {reference[i]}, options);
  EXPECT_EQ(chrf_from_stats(sum, 1, options).score, chrf(hypotheses, {reference}, options).score);
}

TEST(Chrf, RefusesReferencesOfAnotherLength) { EXPECT_THROW(chrf({"a", "b"}, {{"a"}}), Error); }

}  // namespace
}  // namespace weft::testing
