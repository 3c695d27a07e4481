// tests/trainer/metrics/sacrebleu_cases.h: reads sacreBLEU's results, written by the scripts in
// tests/reference, and compares with them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/metrics/bleu.h"
#include "trainer/metrics/chrf.h"
#include "trainer/metrics/references.h"
#include "trainer/metrics/ter.h"
#include "trainer/version.h"

namespace weft::testing {

inline nlohmann::json read_reference_json(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(std::string(WEFT_SOURCE_DIR "/tests/reference/") + name));
}

inline const nlohmann::json& sacrebleu_cases() {
  static const nlohmann::json cases = read_reference_json("sacrebleu_cases.json");
  return cases;
}

// sacreBLEU's line with Weft's name in the signature.
inline std::string with_our_version(std::string line) {
  const std::string placeholder = "version:VERSION";
  return line.replace(line.find(placeholder), placeholder.size(), std::string("version:weft-") + kVersion);
}

// The sets of tests/reference/sacrebleu_options.py, under the same names.
inline const std::map<std::string, BleuOptions> kBleuOptionSets = {
    {"default", {}},
    {"intl", {.tokenizer = BleuTokenizer::intl}},
    {"char", {.tokenizer = BleuTokenizer::chars}},
    {"zh", {.tokenizer = BleuTokenizer::zh}},
    {"none", {.tokenizer = BleuTokenizer::none}},
    {"floor", {.smoothing = BleuSmoothing::floor}},
    {"floor 0.25", {.smoothing = BleuSmoothing::floor, .smoothing_value = 0.25}},
    {"add-k", {.smoothing = BleuSmoothing::add_k}},
    {"add-k 0.5", {.smoothing = BleuSmoothing::add_k, .smoothing_value = 0.5}},
    {"unsmoothed", {.smoothing = BleuSmoothing::none}},
    {"effective", {.effective_order = true}},
    {"lower case", {.lower_case = true}},
    {"intl lower case", {.tokenizer = BleuTokenizer::intl, .lower_case = true}},
    {"unsmoothed effective", {.smoothing = BleuSmoothing::none, .effective_order = true}},
};
inline const std::map<std::string, ChrfOptions> kChrfOptionSets = {
    {"chrF2", {}},
    {"chrF2++", {.word_order = 2}},
    {"chrF2++ lower case", {.word_order = 2, .lower_case = true}},
};
inline const std::map<std::string, TerOptions> kTerOptionSets = {
    {"TER", {}},
    {"TER mixed case", {.case_sensitive = true}},
    {"TER normalized", {.normalized = true}},
    {"TER without punctuation", {.no_punct = true}},
    {"TER normalized Asian", {.normalized = true, .asian_support = true}},
    {"TER Asian without punctuation", {.no_punct = true, .asian_support = true}},
    {"TER all options", {.case_sensitive = true, .normalized = true, .no_punct = true, .asian_support = true}},
};

// Compares a score and the text after its signature with a pair [score, printed].
template <typename Score>
void expect_score(const Score& score, const nlohmann::json& expected, const std::string& where) {
  EXPECT_NEAR(score.score, expected[0].get<double>(), 1e-9) << where;
  EXPECT_TRUE(format(score).ends_with(" = " + expected[1].get<std::string>()))
      << where << ": " << format(score) << ", not " << expected[1];
}

template <typename Score>
void expect_signature(const Score& score, const nlohmann::json& expected) {
  const std::string line = format(score);
  EXPECT_EQ(line.substr(0, line.find(" = ")), with_our_version(expected));
}

// The sum of the statistics of all segments of a case in which references may be missing (null).
template <typename SegmentStats>
auto sum_of_segments(const nlohmann::json& c, const SegmentStats& segment_stats) {
  std::vector<std::string> hypotheses = c["hypotheses"];
  decltype(segment_stats(hypotheses[0], {})) sum;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    std::vector<std::string_view> references;
    for (const auto& reference : c["references"]) {
      if (!reference[i].is_null()) references.push_back(reference[i].get_ref<const std::string&>());
    }
    sum += segment_stats(hypotheses[i], references);
  }
  return sum;
}

}  // namespace weft::testing
