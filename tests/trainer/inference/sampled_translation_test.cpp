// tests/trainer/inference/sampled_translation_test.cpp: samples of sentences on every grid, minimum Bayes risk compared
// with corpus scores of pairs, suppressed pieces, and options that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tensor/error.h"
#include "tests/support/errors.h"
#include "tests/support/translate.h"
#include "tests/trainer/inference/translation_fixture.h"
#include "trainer/inference/minimum_risk.h"
#include "trainer/inference/translator.h"
#include "trainer/metrics/bleu.h"
#include "trainer/metrics/chrf.h"

namespace weft {
namespace {

using testing::all_or_few;
using testing::on_grid;
using testing::RandomModel;
using testing::sample_lines;
using testing::small_model_config;

class SampledTranslation : public testing::TokenizerTest {
 protected:
  static SearchConfig samples(int64_t count) {
    return {.decode = {.max_length_factor = 1, .max_length_extra = 4}, .sampling = {.samples = count}};
  }
  static std::vector<NBest> translate(const std::vector<std::string>& lines, int dp, const SearchConfig& config,
                                      int64_t batch = 0) {
    std::vector<NBest> found;
    on_grid(dp, 1, [&](const Mesh& mesh) {
      RandomModel m(small_model_config(tokenizer_->size()), mesh);
      Translator translator({&m.replica}, *tokenizer_, *tokenizer_, config, batch);
      const std::vector<NBest> mine = testing::translate_lines(translator, lines);
      if (mesh.world().is_main_rank()) found = mine;
    });
    return found;
  }
  static std::vector<std::string> texts_of(const NBest& nbest) {
    std::vector<std::string> texts;
    for (const Translation& t : nbest) texts.push_back(t.text);
    return texts;
  }
};

TEST_F(SampledTranslation, IsTheSameInEveryBatchAndOnEveryNumberOfRanks) {
  std::vector<std::string> lines = sample_lines(all_or_few(12, 3));
  lines.emplace_back();
  const std::vector<NBest> alone = translate(lines, 1, samples(4));
  for (const NBest& nbest : alone) EXPECT_EQ(nbest.size(), 4u);
  EXPECT_EQ(texts_of(alone.back()), std::vector<std::string>(4));
  const auto expect_equal = [&](const std::vector<NBest>& other) {
    for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(texts_of(other[i]), texts_of(alone[i])) << "line " << i;
  };
  expect_equal(translate(lines, 3, samples(4)));
  expect_equal(translate(lines, 1, samples(4), 5));
  const std::vector<NBest> fewer = translate({lines[1]}, 1, samples(2));
  for (size_t k = 0; k < 2; ++k) EXPECT_EQ(fewer[0][k].text, alone[1][k].text) << "sample " << k;
}

double bleu_of(const std::string& hypothesis, const std::string& reference, BleuTokenizer tokenizer) {
  return bleu({hypothesis}, {{reference}}, {.tokenizer = tokenizer, .effective_order = true}).score;
}
double chrf_of(const std::string& hypothesis, const std::string& reference) {
  return chrf({hypothesis}, {{reference}}).score;
}

TEST_F(SampledTranslation, OfLeastRiskIsTheSampleMostSimilarToTheOthers) {
  const std::vector<std::string> lines = sample_lines(4);
  SearchConfig config = samples(6);
  const std::vector<NBest> all = translate(lines, 1, config);
  for (const RiskUtility utility : {RiskUtility::chrf, RiskUtility::bleu}) {
    config.utility = utility;
    const std::vector<NBest> found = translate(lines, 2, config);
    for (size_t i = 0; i < lines.size(); ++i) {
      const BleuTokenizer tokenizer = chosen_tokenizer(BleuTokenizer::automatic, texts_of(all[i]));
      std::vector<double> means;
      for (const Translation& hypothesis : all[i]) {
        double sum = 0;
        for (const Translation& reference : all[i])
          sum += utility == RiskUtility::bleu ? bleu_of(hypothesis.text, reference.text, tokenizer)
                                              : chrf_of(hypothesis.text, reference.text);
        means.push_back(sum / 6);
      }
      ASSERT_EQ(found[i].size(), 1u);
      const auto best = static_cast<size_t>(std::ranges::max_element(means) - means.begin());
      EXPECT_NEAR(found[i][0].score, means[best], 1e-12);
      EXPECT_EQ(found[i][0].text, all[i][best].text);
      EXPECT_EQ(found[i][0].log_prob, all[i][best].log_prob);
    }
  }
}

TEST(MinimumRisk, CountsEqualSamplesEachTime) {
  const std::vector<std::string> samples{"a small house", "a small house", "a green tree", "nothing at all"};
  const std::vector<double> found = expected_utilities(samples, RiskUtility::chrf);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_NEAR(found[0], (200 + chrf_of(samples[0], samples[2]) + chrf_of(samples[0], samples[3])) / 4, 1e-12);
  EXPECT_GT(found[0], found[2]);
}

TEST(MinimumRisk, SplitsChineseIntoCharacters) {
  const std::vector<std::string> samples{"我们去学校", "他们去学校", "天气很好"};
  const std::vector<double> found = expected_utilities(samples, RiskUtility::bleu);
  EXPECT_GT(found[0], 40);  // 33.3 if a sample were one word
  EXPECT_GT(found[0], found[2]);
}

TEST_F(SampledTranslation, ContainsNoSuppressedPiece) {
  SearchConfig config = samples(8);
  const auto tokens = [&] {
    std::vector<int32_t> all;
    for (const NBest& nbest : translate(sample_lines(4), 1, config))
      for (const Translation& t : nbest) all.insert(all.end(), t.tokens.begin(), t.tokens.end());
    return all;
  };
  const std::vector<int32_t> usual = tokens();
  const auto piece = std::ranges::find_if(usual, [](int32_t id) { return !tokenizer_->is_byte(id); });
  ASSERT_NE(piece, usual.end());
  config.suppressed = {tokenizer_->piece(*piece)};
  EXPECT_EQ(std::ranges::count(tokens(), *piece), 0);
}

TEST_F(SampledTranslation, RefusesWhatCannotBeSuppressed) {
  const auto refusal = [&](const std::string& piece) {
    return testing::refusal_of(ErrorKind::usage, [&] { token_rules({.suppressed = {piece}}, *tokenizer_); });
  };
  EXPECT_EQ(refusal("qqqq"), "the target vocabulary has no piece \"qqqq\" to suppress; \u2581 stands for a space");
  EXPECT_EQ(refusal("</s>"), "eos cannot be suppressed: use --min-length");
  EXPECT_EQ(refusal("<0x80>"), "<0x80> is part of a character and cannot be suppressed");
}

TEST(SearchConfig, RefusesInvalidOptions) {
  const auto refusal = [](const SearchConfig& c) {
    return testing::refusal_of(ErrorKind::usage, [&] { search_options(c); });
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.sampling = {.samples = 3, .top_k = 10, .top_p = 0.5, .temperature = 0.1}}), "");
  EXPECT_EQ(refusal({.no_repeat_ngram = -1}), "no-repeat-ngram = -1 must be at least 0");
  EXPECT_EQ(refusal({.sampling = {.samples = 10'001}}), "samples = 10001 must be between 1 and 10000");
  EXPECT_EQ(refusal({.sampling = {.samples = 1, .top_k = -1}}), "top-k = -1 must be at least 0");
  for (const double p : {0.0, 1.5, -1.0, std::nan("")})
    EXPECT_NE(refusal({.sampling = {.samples = 1, .top_p = p}}), "") << p;
  for (const double t : {0.0, -1.0, HUGE_VAL, std::nan("")})
    EXPECT_NE(refusal({.sampling = {.samples = 1, .temperature = t}}), "") << t;
  EXPECT_EQ(refusal({.sampling = {.samples = 1}, .utility = RiskUtility::chrf}),
            "minimum Bayes risk compares samples: give at least 2, such as --samples 32");
}

}  // namespace
}  // namespace weft
