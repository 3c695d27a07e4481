// tests/trainer/metrics/ter_test.cpp: sacreBLEU's scores, golden numbers, and the search limits that define
// the score.
#include "trainer/metrics/ter.h"

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tests/trainer/metrics/sacrebleu_cases.h"
#include "trainer/metrics/ter_edit_distance.h"
#include "trainer/metrics/ter_shifts.h"

namespace weft::testing {
namespace {

std::vector<int> numbers(int first, int last) {
  std::vector<int> result;
  for (int i = first; i <= last; ++i) result.push_back(i);
  return result;
}

std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Ter, EqualsSacrebleuOnEveryCaseAndOption) {
  const auto& cases = sacrebleu_cases()["cases"];
  ASSERT_GE(cases.size(), 60u);
  for (const auto& c : cases) {
    for (const auto& [name, options] : kTerOptionSets) {
      const std::string where = c["name"].get<std::string>() + ", " + name;
      expect_score(ter(c["hypotheses"], c["references"], options), c["scores"][name], where);
    }
  }
}

TEST(Ter, SignatureHasSacrebleusFieldsAndOurName) {
  for (const auto& [name, options] : kTerOptionSets) {
    expect_signature(ter({"a"}, {{"a"}, {"b"}}, options), sacrebleu_cases()["signatures"][name]);
  }
}

TEST(Ter, ReferencesMayBeMissing) {
  for (const auto& c : sacrebleu_cases()["variable_references"]) {
    for (const auto& [name, options] : kTerOptionSets) {
      const TerStats sum =
          sum_of_segments(c, [&](const std::string& hypothesis, const std::vector<std::string_view>& references) {
            return ter_stats(hypothesis, references, options);
          });
      const TerScore score = ter_from_stats(sum, kVariableReferences, options);
      expect_score(score, c["scores"][name], c["name"].get<std::string>() + ", " + name);
      expect_signature(score, sacrebleu_cases()["signatures_of_variable_references"][name]);
    }
  }
}

// generaltest2022 en-de: published edits and length, sacreBLEU's score.
TEST(Ter, GoldenSumsGiveTheGoldenScore) {
  EXPECT_NEAR(ter_from_stats({16695, 33426}, 1).score, 49.94614970382337, 1e-9);
  EXPECT_NEAR(ter_from_stats({17460, 33426}, 1).score, 52.2347872913301, 1e-9);
  EXPECT_NEAR(ter_from_stats({17741, 33426}, 1).score, 53.0754502483097, 1e-9);
  EXPECT_EQ(format(ter_from_stats({16695, 33426}, 1), 2),
            with_our_version("TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:VERSION = 49.95"));
}

// Published one-line cases, to four digits.
TEST(Ter, GoldenScoresOfOneLine) {
  EXPECT_EQ(ter({"a b c"}, {{"a b c"}}).score, 0);
  EXPECT_EQ(ter({""}, {{"a"}}).score, 100);
  EXPECT_EQ(ter({"a"}, {{""}}).score, 100);
  EXPECT_EQ(ter({""}, {{""}}).score, 0);
  EXPECT_NEAR(ter({"the cat sat on the mat ."}, {{"the cat sat on a mat ."}}).score, 14.2857, 5e-5);
  EXPECT_EQ(ter({"a b c d"}, {{"a b x d"}}).score, 25);
  EXPECT_EQ(ter({"a b c d e"}, {{"x y"}}).score, 250);
}

TEST(Ter, AMovedRunIsOneEdit) {
  EXPECT_EQ(ter_stats("c d e f a b", {"a b c d e f"}), (TerStats{1, 6}));
  EXPECT_EQ(ter_stats("C D e f A b", {"a b c d e f"}), (TerStats{1, 6}));  // ignores case by default
  EXPECT_EQ(ter_stats("C d e f a b", {"a b c d e f"}, {.case_sensitive = true}), (TerStats{2, 6}));
}

// An accident in sacreBLEU that is part of its scores.
TEST(Ter, ReferencesAreNormalizedTwice) {
  EXPECT_EQ(ter_stats("it's...", {"it's..."}, {.normalized = true}), (TerStats{2, 5}));  // against: it 's . . .
}

TEST(Ter, FewestEditsAndMeanLengthOfSeveralReferences) {
  EXPECT_EQ(ter_stats("a b c d", {"a b c x y z", "a b c"}), (TerStats{1, 4.5}));
}

TEST(Ter, ARunOfMoreThanTenWordsNeedsTwoMoves) {
  EXPECT_EQ(translation_edits(joined(numbers(11, 21), numbers(31, 42)), joined(numbers(31, 42), numbers(11, 21))), 2);
  EXPECT_EQ(translation_edits(joined(numbers(11, 20), numbers(31, 42)), joined(numbers(31, 42), numbers(11, 20))), 1);
}

TEST(Ter, WordsAreNotMovedFromMoreThanFiftyPlacesAway) {
  EXPECT_EQ(translation_edits(joined(numbers(1, 50), {99}), joined({99}, numbers(1, 50))), 1);
  EXPECT_EQ(translation_edits(joined(numbers(1, 51), {99}), joined({99}, numbers(1, 51))), 2);
}

TEST(Ter, StatsOfPartsAddUpToTheWhole) {
  const std::vector<std::string> hypotheses = {"ein Hund", "", "zwei Katzen hier !"};
  const std::vector<std::string> reference = {"ein Huhn", "x", "hier zwei Kater !"};
  TerStats sum;
  for (size_t i = 0; i < hypotheses.size(); ++i) sum += ter_stats(hypotheses[i], {reference[i]});
  EXPECT_EQ(sum, ter(hypotheses, {reference}).stats);
}

TEST(Ter, RefusesReferencesOfAnotherLength) { EXPECT_THROW(ter({"a", "b"}, {{"a"}}), Error); }

TEST(BeamEditDistance, PrefersSubstitutionThenRemovalThenInsertion) {
  BeamEditDistance distance({1, 2, 3});
  EXPECT_EQ(distance({1, 4, 3}), 1);
  EXPECT_EQ(distance.path(), (std::vector{Edit::match, Edit::substitute, Edit::match}));
  EXPECT_EQ(distance({2, 3, 1}), 2);
  EXPECT_EQ(distance.path(), (std::vector{Edit::insert, Edit::match, Edit::match, Edit::remove}));
  EXPECT_EQ(distance({}), 3);
}

TEST(BeamEditDistance, RowsKeptFromTheLastCallChangeNothing) {
  const std::vector<int> reference = numbers(1, 12);
  const std::vector<std::vector<int>> hypotheses = {
      numbers(1, 12), {1, 2, 3, 5, 4, 6, 7, 8}, {1, 2, 3, 9, 4, 6, 7, 8}, {1, 2}, {3, 2}, {}, numbers(1, 12)};
  BeamEditDistance one(reference);
  for (const auto& hypothesis : hypotheses) {
    BeamEditDistance fresh(reference);
    EXPECT_EQ(one(hypothesis), fresh(hypothesis));
    EXPECT_EQ(one.path(), fresh.path());
  }
}

// `num_words` to remove before sixty equal words and to insert after them: so far is the path off the
// diagonal.
int distance_off_the_diagonal(int num_words) {
  const std::vector<int> equal = numbers(1, 60);
  BeamEditDistance distance(joined(equal, numbers(101, 100 + num_words)));
  return distance(joined(numbers(201, 200 + num_words), equal));
}

TEST(BeamEditDistance, LooksNoFurtherThanTheBeam) {
  EXPECT_EQ(distance_off_the_diagonal(25), 50);
  EXPECT_GT(distance_off_the_diagonal(26), 52);
}

}  // namespace
}  // namespace weft::testing
