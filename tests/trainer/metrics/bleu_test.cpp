// tests/trainer/metrics/bleu_test.cpp: sacreBLEU's scores and printed lines, golden numbers, sums over parts.
#include "trainer/metrics/bleu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tensor/error.h"
#include "tests/trainer/metrics/sacrebleu_cases.h"

namespace weft::testing {
namespace {

TEST(Bleu, EqualsSacrebleuOnEveryCaseAndOption) {
  const auto& cases = sacrebleu_cases()["cases"];
  ASSERT_GE(cases.size(), 60u);
  for (const auto& c : cases) {
    for (const auto& [name, options] : kBleuOptionSets) {
      const std::string where = c["name"].get<std::string>() + ", " + name;
      expect_score(bleu(c["hypotheses"], c["references"], options), c["scores"][name], where);
    }
  }
}

TEST(Bleu, SignatureHasSacrebleusFieldsAndOurName) {
  for (const auto& [name, options] : kBleuOptionSets) {
    expect_signature(bleu({"a"}, {{"a"}, {"b"}}, options), sacrebleu_cases()["signatures"][name]);
  }
}

TEST(Bleu, ReferencesMayBeMissing) {
  for (const auto& c : sacrebleu_cases()["variable_references"]) {
    for (const auto& [name, options] : kBleuOptionSets) {
      const BleuStats sum =
          sum_of_segments(c, [&](const std::string& hypothesis, const std::vector<std::string_view>& references) {
            return bleu_stats(hypothesis, references, options);
          });
      const BleuScore score = bleu_from_stats(sum, kVariableReferences, options);
      expect_score(score, c["scores"][name], c["name"].get<std::string>() + ", " + name);
      expect_signature(score, sacrebleu_cases()["signatures_of_variable_references"][name]);
    }
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

// Published one-line cases, to four digits: exp, with effective order, floor, add-k.
TEST(Bleu, GoldenScoresOfOneLine) {
  struct Case {
    const char *hypothesis, *reference;
    double exp, effective, floor, add_k;
  };
  for (const auto& c :
       {Case{"a b c", "a b c", 0, 100, 0, 100}, Case{"", "a", 0, 0, 0, 0}, Case{"a", "", 0, 0, 0, 0},
        Case{"", "", 0, 0, 0, 0},
        Case{"the cat sat on the mat .", "the cat sat on a mat .", 48.8923, 48.8923, 48.8923, 59.1546},
        Case{"a b c d", "a b x d", 35.3553, 35.3553, 18.8030, 50}, Case{"a b c d e", "x y", 0, 0, 0, 0}}) {
    auto score = [&](const BleuOptions& options) { return bleu({c.hypothesis}, {{c.reference}}, options).score; };
    EXPECT_NEAR(score({}), c.exp, 5e-5) << c.hypothesis;
    EXPECT_NEAR(score({.effective_order = true}), c.effective, 5e-5) << c.hypothesis;
    EXPECT_NEAR(score({.smoothing = BleuSmoothing::floor}), c.floor, 5e-5) << c.hypothesis;
    EXPECT_NEAR(score({.smoothing = BleuSmoothing::add_k}), c.add_k, 5e-5) << c.hypothesis;
  }
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

TEST(Bleu, ChoosesTheTokenizerByTheScriptOfTheReferences) {
  const auto chosen = [](const std::string& text) { return chosen_tokenizer(BleuTokenizer::automatic, {text, ""}); };
  EXPECT_EQ(chosen("你好，世界！真的吗？ OK"), BleuTokenizer::zh);
  EXPECT_EQ(chosen("私は学生です。"), BleuTokenizer::chars);
  EXPECT_EQ(chosen("ฉันชอบอ่านหนังสือ"), BleuTokenizer::chars);
  for (const char* text : {"Zwei Männer", "Два человека", "안녕하세요 세계", "", "12:30", "Das Zeichen 中 im Text"})
    EXPECT_EQ(chosen(text), BleuTokenizer::v13a) << text;
  EXPECT_EQ(chosen_tokenizer(BleuTokenizer::intl, {"你好"}), BleuTokenizer::intl);
}

TEST(Bleu, RefusesReferencesOfAnotherLength) { EXPECT_THROW(bleu({"a", "b"}, {{"a"}}), Error); }

TEST(Version, IsTheOneOfTheBuild) {
  std::stringstream text;
  text << std::ifstream(WEFT_SOURCE_DIR "/CMakeLists.txt").rdbuf();
  EXPECT_NE(text.str().find(std::string("project(weft VERSION ") + kVersion + " "), std::string::npos);
}

}  // namespace
}  // namespace weft::testing
