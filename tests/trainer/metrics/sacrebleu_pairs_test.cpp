// tests/trainer/metrics/sacrebleu_pairs_test.cpp: scores of random damaged sentence pairs: sacreBLEU's
// statistics of each pair, and its scores of many.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/trainer/metrics/sacrebleu_cases.h"
#include "trainer/metrics/bleu.h"
#include "trainer/metrics/chrf.h"
#include "trainer/metrics/ter.h"

namespace weft::testing {
namespace {

using Columns = std::vector<std::string>;

// The lines of a file of tests/reference, split at tabs.
std::vector<Columns> read_columns(const std::string& name) {
  std::ifstream in(std::string(WEFT_SOURCE_DIR "/tests/reference/") + name);
  std::vector<Columns> rows;
  for (std::string line; std::getline(in, line);) {
    Columns& row = rows.emplace_back();
    size_t begin = 0;
    for (size_t end; (end = line.find('\t', begin)) != std::string::npos; begin = end + 1) {
      row.push_back(line.substr(begin, end - begin));
    }
    row.push_back(line.substr(begin));
  }
  return rows;
}

const std::vector<Columns>& pairs() {
  static const std::vector<Columns> rows = read_columns("sacrebleu_pairs.txt");
  return rows;
}

// Column `column` of every pair's statistics as integers.
std::vector<std::vector<int64_t>> expected_statistics(size_t column) {
  static const std::vector<Columns> rows = read_columns("sacrebleu_pairs_stats.txt");
  std::vector<std::vector<int64_t>> result;
  for (const Columns& row : rows) {
    size_t source = column;
    while (row.at(source).empty()) --source;  // empty: equal to the previous one
    std::istringstream in(row[source]);
    result.emplace_back(std::istream_iterator<int64_t>(in), std::istream_iterator<int64_t>());
  }
  return result;
}

BleuStats bleu_stats_of(const std::vector<int64_t>& numbers) {
  BleuStats stats{.hypothesis_length = numbers.at(0), .reference_length = numbers.at(1)};
  for (int n = 0; n < BleuStats::kMaxOrder; ++n) {
    stats.correct[n] = numbers.at(2 + n);
    stats.total[n] = std::max<int64_t>(0, stats.hypothesis_length - n);
  }
  return stats;
}

ChrfStats chrf_stats_of(const std::vector<int64_t>& numbers) {
  ChrfStats stats;
  for (int order = 0; order < 8; ++order) {
    const bool of_words = order >= ChrfOptions::kCharOrder;
    const int64_t shorter = of_words ? order - ChrfOptions::kCharOrder : order;
    const int64_t reference = std::max<int64_t>(0, numbers.at(of_words ? 3 : 1) - shorter);
    const int64_t hypothesis = std::max<int64_t>(0, numbers.at(of_words ? 2 : 0) - shorter);
    stats.orders[order] = {reference > 0 ? hypothesis : 0, reference, numbers.at(4 + order)};
  }
  return stats;
}

struct Run {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;
};

// Further references of a segment are the reference and the hypothesis of the next one.
Run run_of(const nlohmann::json& expected) {
  const size_t first = expected["first"], count = expected["count"];
  Run run;
  run.references.resize(expected["num_references"].get<size_t>());
  for (size_t i = 0; i < count; ++i) {
    const Columns &pair = pairs().at(first + i), &next = pairs().at(first + (i + 1) % count);
    const std::string* candidates[] = {&pair[1], &next[1], &next[0]};
    run.hypotheses.push_back(pair[0]);
    for (size_t r = 0; r < run.references.size(); ++r) run.references[r].push_back(*candidates[r]);
  }
  return run;
}

TEST(SacrebleuPairs, AreTwoThousand) { EXPECT_EQ(pairs().size(), 2000u); }

TEST(SacrebleuPairs, BleuStatisticsAreEqualForEveryTokenizer) {
  const std::vector<std::string> sets = {"default", "intl", "char", "zh", "none"};
  for (size_t column = 0; column < sets.size(); ++column) {
    const auto expected = expected_statistics(column);
    ASSERT_EQ(expected.size(), pairs().size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(bleu_stats(pairs()[i][0], {pairs()[i][1]}, kBleuOptionSets.at(sets[column])),
                bleu_stats_of(expected[i]))
          << sets[column] << ", line " << i + 1;
    }
  }
}

TEST(SacrebleuPairs, ChrfStatisticsAreEqual) {
  const auto expected = expected_statistics(5);
  ASSERT_EQ(expected.size(), pairs().size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const ChrfStats stats = chrf_stats_of(expected[i]);
    EXPECT_EQ(chrf_stats(pairs()[i][0], {pairs()[i][1]}, {.word_order = 2}), stats) << "line " << i + 1;
    ChrfStats of_characters = stats;
    of_characters.orders[6] = of_characters.orders[7] = {};
    EXPECT_EQ(chrf_stats(pairs()[i][0], {pairs()[i][1]}), of_characters) << "line " << i + 1;
  }
}

TEST(SacrebleuPairs, TerStatisticsAreEqual) {
  const std::vector<std::string> sets = {"TER", "TER normalized Asian", "TER Asian without punctuation"};
  for (size_t column = 0; column < sets.size(); ++column) {
    const auto expected = expected_statistics(6 + column);
    ASSERT_EQ(expected.size(), pairs().size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const TerStats stats = ter_stats(pairs()[i][0], {pairs()[i][1]}, kTerOptionSets.at(sets[column]));
      EXPECT_EQ(stats.edits, expected[i].at(0)) << sets[column] << ", line " << i + 1;
      EXPECT_EQ(stats.reference_length, expected[i].at(1)) << sets[column] << ", line " << i + 1;
    }
  }
}

TEST(SacrebleuPairs, ScoresOfManyAreEqualInTheirPrintedDigits) {
  const auto runs = read_reference_json("sacrebleu_pairs_scores.json");
  ASSERT_GE(runs.size(), 10u);
  for (const auto& expected : runs) {
    const auto [hypotheses, references] = run_of(expected);
    auto where = [&](const std::string& set) { return "pairs from line " + expected["first"].dump() + ", " + set; };
    for (const auto& [name, options] : kBleuOptionSets) {
      expect_score(bleu(hypotheses, references, options), expected["scores"][name], where(name));
    }
    for (const auto& [name, options] : kChrfOptionSets) {
      expect_score(chrf(hypotheses, references, options), expected["scores"][name], where(name));
    }
    for (const auto& [name, options] : kTerOptionSets) {
      expect_score(ter(hypotheses, references, options), expected["scores"][name], where(name));
    }
  }
}

}  // namespace
}  // namespace weft::testing
