// Tests of trainer/bleu.h: sacreBLEU's scores and printed lines, golden numbers, sums over parts.
#include "trainer/bleu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tensor/error.h"
#include "tests/trainer/sacrebleu_cases.h"

namespace weft {
namespace {

const std::map<std::string, BleuOptions> kOptions = {
    {"default", {}},
    {"none", {.tokenizer = BleuTokenizer::none}},
    {"floor", {.smoothing = BleuSmoothing::floor}},
    {"floor 0.25", {.smoothing = BleuSmoothing::floor, .smoothing_value = 0.25}},
    {"add-k", {.smoothing = BleuSmoothing::add_k}},
    {"add-k 0.5", {.smoothing = BleuSmoothing::add_k, .smoothing_value = 0.5}},
    {"unsmoothed", {.smoothing = BleuSmoothing::none}},
    {"effective", {.effective_order = true}},
    {"lower case", {.lower_case = true}},
    {"unsmoothed effective", {.smoothing = BleuSmoothing::none, .effective_order = true}},
};

TEST(Bleu, EqualsSacrebleuOnEveryCaseAndOption) {
  const auto& cases = sacrebleu_cases()["cases"];
  ASSERT_GE(cases.size(), 40u);
  for (const auto& c : cases) {
    for (const auto& [name, options] : kOptions) {
      const BleuScore score = bleu(c["hypotheses"], c["references"], options);
      const auto& expected = c["scores"][name];
      EXPECT_NEAR(score.score, expected[0].get<double>(), 1e-9) << c["name"] << ", " << name;
      EXPECT_TRUE(format(score).ends_with(" = " + expected[1].get<std::string>()))
          << c["name"] << ", " << name << ": " << format(score) << ", not " << expected[1];
    }
  }
}

TEST(Bleu, SignatureHasSacrebleusFieldsAndOurName) {
  for (const auto& [name, options] : kOptions) {
    const std::string line = format(bleu({"a"}, {{"a"}, {"b"}}, options));
    EXPECT_EQ(line.substr(0, line.find(" = ")), with_our_version(sacrebleu_cases()["signatures"][name]));
  }
}

// generaltest2022 en-de, Online-B and OpenNMT against reference A: published sums, sacreBLEU's score.
TEST(Bleu, GoldenSumsGiveTheGoldenScore) {
  BleuStats stats{.hypothesis_length = 39114,
                  .reference_length = 38914,
                  .correct = {26182, 16334, 11061, 7685},
                  .total = {39114, 37077, 35040, 33009}};
  EXPECT_NEAR(bleu_from_stats(stats, 1).score, 38.36852355513645, 1e-9);
  EXPECT_EQ(format(bleu_from_stats(stats, 1), 2),
            with_our_version("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:VERSION = 38.37 "
                             "66.9/44.1/31.6/23.3 (BP = 1.000 ratio = 1.005 hyp_len = 39114 ref_len = 38914)"));
  EXPECT_NEAR(bleu_from_stats(stats, 1, {.smoothing = BleuSmoothing::add_k}).score, 38.370403041779426, 1e-9);
  stats = {.hypothesis_length = 39357,
           .reference_length = 38914,
           .correct = {25525, 15420, 10207, 6956},
           .total = {39357, 37320, 35283, 33253}};
  EXPECT_NEAR(bleu_from_stats(stats, 1).score, 35.685103722891746, 1e-9);
}

TEST(Bleu, StatsOfPartsAddUpToTheWhole) {
  const std::vector<std::string> hypotheses = {"a b c d e", "x y z", "", "the cat sat on the mat"};
  const std::vector<std::string> reference = {"a b c d f", "x z y", "q", "the cat sat on a mat"};
  BleuStats sum;
  for (size_t i = 0; i < hypotheses.size(); ++i) sum += bleu_stats(hypotheses[i], {reference[i]});
  const BleuScore whole = bleu(hypotheses, {reference});
  EXPECT_EQ(sum, whole.stats);
  EXPECT_EQ(bleu_from_stats(sum, 1).score, whole.score);
}

TEST(Bleu, RefusesReferencesOfAnotherLength) { EXPECT_THROW(bleu({"a", "b"}, {{"a"}}), Error); }

TEST(Version, IsTheOneOfTheBuild) {
  std::stringstream text;
  text << std::ifstream(WEFT_SOURCE_DIR "/CMakeLists.txt").rdbuf();
  EXPECT_NE(text.str().find(std::string("project(weft VERSION ") + kVersion + " "), std::string::npos);
}

}  // namespace
}  // namespace weft
