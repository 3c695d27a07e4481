// tests/trainer/inference/translator_test.cpp: translation of lines: order, grids, batches, unusual lines.
#include "trainer/inference/translator.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tensor/error.h"
#include "tests/support/errors.h"
#include "tests/support/translate.h"
#include "tests/trainer/inference/translation_fixture.h"
#include "trainer/inference/evaluate.h"

namespace weft {
namespace {

using testing::all_or_few;
using testing::on_grid;
using testing::RandomModel;
using testing::sample_lines;
using testing::small_model_config;

class TranslatorTest : public testing::TokenizerTest {
 protected:
  static DecodeConfig decode() { return {.beam = 3, .max_length_factor = 1, .max_length_extra = 4}; }

  // The result on rank 0 of the grid; the test fails unless all ranks get the same.
  static std::vector<NBest> translate(const std::vector<std::string>& lines, int dp, int tp, const DecodeConfig& config,
                                      int64_t batch = 0) {
    std::vector<std::vector<NBest>> results(static_cast<size_t>(dp * tp));
    on_grid(dp, tp, [&](const Mesh& mesh) {
      RandomModel m(small_model_config(tokenizer_->size()), mesh);
      Translator translator(m.replica, *tokenizer_, *tokenizer_, config, batch);
      results[static_cast<size_t>(mesh.world().rank())] = testing::translate_lines(translator, lines);
    });
    for (const auto& other : results) expect_equal(other, results[0]);
    return results[0];
  }
  static void expect_equal(const std::vector<NBest>& a, const std::vector<NBest>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].size(), b[i].size());
      for (size_t k = 0; k < a[i].size(); ++k) {
        EXPECT_EQ(a[i][k].text, b[i][k].text) << "line " << i;
        EXPECT_EQ(a[i][k].score, b[i][k].score) << "line " << i;
      }
    }
  }
};

TEST_F(TranslatorTest, KeepsTheOrderOfLines) {
  const std::vector<std::string> lines = sample_lines(all_or_few(30, 5));
  const std::vector<NBest> all = translate(lines, 1, 1, decode());
  for (const size_t i : {size_t{0}, lines.size() / 2, lines.size() - 1})
    expect_equal(translate({lines[i]}, 1, 1, decode()), {all[i]});
}

TEST_F(TranslatorTest, GivesTheSameOnEveryNumberOfDataParallelRanks) {
  const std::vector<std::string> lines = sample_lines(all_or_few(25, 5));
  const std::vector<NBest> alone = translate(lines, 1, 1, decode());
  expect_equal(translate(lines, 2, 1, decode()), alone);
  expect_equal(translate(lines, 3, 1, decode()), alone);
}

TEST_F(TranslatorTest, GivesTheSameTextOnTensorParallelRanks) {
  const std::vector<std::string> lines = sample_lines(all_or_few(12, 6));
  const std::vector<NBest> alone = translate(lines, 1, 1, decode()), split = translate(lines, 2, 2, decode());
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(split[i][0].text, alone[i][0].text);
}

TEST_F(TranslatorTest, GivesTheSameAtEveryBatchSize) {
  const std::vector<std::string> lines = sample_lines(all_or_few(25, 5));
  const std::vector<NBest> full = translate(lines, 1, 1, decode());
  expect_equal(translate(lines, 1, 1, decode(), 1), full);
  expect_equal(translate(lines, 1, 1, decode(), 7), full);
  expect_equal(translate(lines, 1, 1, decode(), 64), full);
}

TEST_F(TranslatorTest, TurnsEmptyLinesIntoEmptyLines) {
  const std::vector<NBest> found = translate({"", "the house", " ", ""}, 2, 1, decode());
  ASSERT_EQ(found.size(), 4u);
  for (const size_t i : {size_t{0}, size_t{2}, size_t{3}}) {
    ASSERT_EQ(found[i].size(), 1u);
    EXPECT_EQ(found[i][0].text, "");
  }
  EXPECT_NE(found[1][0].score, 0);
  EXPECT_TRUE(translate({}, 2, 1, decode()).empty());
}

TEST_F(TranslatorTest, ScoresAnEmptyLineAsTheModelDoes) {
  on_grid(1, 1, [&](const Mesh& mesh) {
    RandomModel m(small_model_config(tokenizer_->size()), mesh);
    Translator translator(m.replica, *tokenizer_, *tokenizer_, decode());
    const Translation empty = testing::translate_lines(translator, {"the house", ""})[1].front();
    const PairScore given = score_pairs(m.replica, {{.source = {}, .target = {}}})[0];
    EXPECT_LT(given.log_prob, -1);
    EXPECT_NEAR(empty.log_prob, given.log_prob, 1e-5);
    EXPECT_EQ(empty.score, empty.log_prob);  // the penalty of a single token is 1
  });
}

TEST_F(TranslatorTest, TheLogProbabilitiesOfTheTokensAddUpToTheScore) {
  on_grid(2, 1, [&](const Mesh& mesh) {
    RandomModel m(small_model_config(tokenizer_->size()), mesh);
    for (const int64_t beam : {1, 4}) {
      Translator translator(m.replica, *tokenizer_, *tokenizer_, {.beam = beam, .nbest = beam});
      std::vector<TranslationInput> inputs;
      for (const std::string& line : sample_lines(5))
        inputs.push_back(translator.encode({.text = line, .tag = "", .target_tag = "", .prefix = "of"}));
      const std::vector<NBest> found = translator.translate_inputs(inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        for (const Translation& t : found[i]) {
          const PairScore given = score_pairs(m.replica, {{.source = inputs[i].source, .target = t.tokens}},
                                              {std::ssize(inputs[i].prefix)})[0];
          ASSERT_EQ(t.log_probs.size(), given.log_probs.size());
          for (size_t k = 0; k < t.log_probs.size(); ++k) EXPECT_NEAR(t.log_probs[k], given.log_probs[k], 1e-4);
          EXPECT_EQ(std::accumulate(t.log_probs.begin(), t.log_probs.end(), 0.0), t.log_prob);
          EXPECT_EQ(t.log_prob / length_penalty({.length_penalty = 0.6}, std::ssize(t.log_probs), 0), t.score);
        }
      }
    }
  });
}

TEST_F(TranslatorTest, BeginsWithAForcedPrefixOnEveryGrid) {
  const std::vector<std::string> lines = sample_lines(5);
  const auto translate_with_prefix = [&](int dp, int tp) {
    std::vector<NBest> found;
    on_grid(dp, tp, [&](const Mesh& mesh) {
      RandomModel m(small_model_config(tokenizer_->size()), mesh);
      Translator translator(m.replica, *tokenizer_, *tokenizer_, decode());
      std::vector<TranslationInput> inputs;
      for (const std::string& line : lines)
        inputs.push_back(translator.encode({.text = line, .tag = "", .target_tag = "", .prefix = "small green"}));
      inputs.push_back(translator.encode({.text = " ", .tag = "", .target_tag = "", .prefix = "small green"}));
      const std::vector<NBest> mine = translator.translate_inputs(inputs);
      if (mesh.world().is_main_rank()) found = mine;
    });
    return found;
  };
  const std::vector<NBest> alone = translate_with_prefix(1, 1);
  for (size_t i = 0; i < lines.size(); ++i)
    EXPECT_TRUE(alone[i][0].text.starts_with("small green")) << alone[i][0].text;
  EXPECT_EQ(alone.back()[0].text, "");
  expect_equal(translate_with_prefix(3, 1), alone);
  const std::vector<NBest> split = translate_with_prefix(1, 2);
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(split[i][0].text, alone[i][0].text);
}

TEST_F(TranslatorTest, TagsAreTokensButNotText) {
  const std::string path = *folder_ / "tags.model";
  write_file_atomically(path, train_tokenizer(sample_lines(400), {.vocab_size = 312, .tags = {"<2de>", "<web>"}}));
  const Tokenizer tagged(path);
  const TaggedLine line{.text = "the house", .tag = "<web> <2de>", .target_tag = "<2de>", .prefix = "of"};
  const TranslationInput input = encode_line(line, tagged, tagged);
  std::vector<int32_t> source{4, 3}, prefix{3};
  for (const int32_t id : tagged.encode("the house")) source.push_back(id);
  for (const int32_t id : tagged.encode("of")) prefix.push_back(id);
  EXPECT_EQ(input.source, source);
  EXPECT_EQ(input.prefix, prefix);
  on_grid(1, 1, [&](const Mesh& mesh) {
    RandomModel m(small_model_config(tagged.size()), mesh);
    Translator translator(m.replica, tagged, tagged, decode());
    const Translation found = translator.translate_inputs({input})[0].front();
    EXPECT_EQ(found.tokens.front(), 3);
    EXPECT_EQ(found.text.find("<2de>"), std::string::npos);
    const PairScore given =
        score_pairs(m.replica, {{.source = source, .target = found.tokens}}, {std::ssize(prefix)})[0];
    EXPECT_NEAR(found.log_prob, given.log_prob, 1e-4);
    TaggedLine blank = line;
    blank.text = " ";
    const Translation none = translator.translate_inputs({translator.encode(blank)})[0].front();
    EXPECT_EQ(none.text, "") << "not the prefix, either";
    const PairScore end = score_pairs(m.replica, {{.source = {4, 3}, .target = {3}}}, {1})[0];
    EXPECT_NEAR(none.log_prob, end.log_prob, 1e-5) << "a line without text keeps its tags";
  });
  testing::expect_error(
      [&] { encode_line({.text = "of", .tag = "<2fr>", .target_tag = "", .prefix = ""}, tagged, tagged); },
      ErrorKind::usage, {"'<2fr>' is not a tag", "<2de>, <web>"});
}

TEST_F(TranslatorTest, RefusesAPrefixThatTheModelCannotWrite) {
  on_grid(1, 1, [&](const Mesh& mesh) {
    RandomModel m(small_model_config(tokenizer_->size()), mesh, /*max_positions=*/20);
    Translator translator(m.replica, *tokenizer_, *tokenizer_, decode());
    const std::vector<int32_t> fits(19, 270), too_long(20, 270);
    EXPECT_EQ(translator.translate_inputs({{.source = {270}, .prefix = fits}})[0][0].tokens, fits);
    testing::expect_error([&] { translator.translate_inputs({{.source = {270}, .prefix = too_long}}); },
                          ErrorKind::data, {"a target prefix has 20 tokens", "at most 19"});
  });
}

TEST_F(TranslatorTest, KeepsATranslationOnOneLineWhateverTheModelPredicts) {
  const int32_t newline = 3 + '\n';
  ASSERT_EQ(tokenizer_->piece(newline), "<0x0A>");
  on_grid(1, 1, [&](const Mesh& mesh) {
    ModelConfig model = small_model_config(tokenizer_->size());
    model.bias_output = true;
    RandomModel m(model, mesh);
    for (const Param& p : m.params.params())
      if (p.spec.name == "output.bias")
        testing::change(m.ctx, p.value, [&](std::vector<float>& bias) { bias[newline] = 30; });
    DecodeConfig config = decode();
    config.nbest = config.beam;
    Translator translator(m.replica, *tokenizer_, *tokenizer_, config);
    const std::vector<NBest> found = testing::translate_lines(translator, {"the house"});
    for (const Translation& t : found[0]) {
      EXPECT_GT(std::count(t.tokens.begin(), t.tokens.end(), newline), 0);
      EXPECT_EQ(t.text.find('\n'), std::string::npos) << ::testing::PrintToString(t.text);
    }
  });
}

TEST_F(TranslatorTest, CutsWhatIsLongerThanItsPositionsAndCountsIt) {
  on_grid(1, 1, [&](const Mesh& mesh) {
    RandomModel m(small_model_config(tokenizer_->size()), mesh, /*max_positions=*/20);
    Translator translator(m.replica, *tokenizer_, *tokenizer_, decode());
    EXPECT_EQ(translator.longest_source(), 19);
    const std::vector<int32_t> just_fits(19, 270), too_long(40, 270);
    const std::vector<NBest> found = testing::translate_tokens(translator, {just_fits, too_long});
    EXPECT_EQ(translator.num_cut(), 1);
    expect_equal({found[1]}, {found[0]});
  });
}

TEST_F(TranslatorTest, ObeysTheMaximumLengthAndOrdersTheNBest) {
  const DecodeConfig config{.beam = 4, .max_length_factor = 0, .max_length_extra = 3, .nbest = 4};
  for (const NBest& nbest : translate(sample_lines(8), 1, 1, config)) {
    ASSERT_EQ(nbest.size(), 4u);
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_LE(tokenizer_->encode(nbest[k].text).size(), 3u + 1);  // encoding may add a leading space
      EXPECT_LE(nbest[k].score, nbest[k > 0 ? k - 1 : 0].score);
    }
  }
}

TEST_F(TranslatorTest, TheMinimumLengthGoesBeforeTheMaximum) {
  DecodeConfig config{.beam = 2, .max_length_factor = 0, .max_length_extra = 2, .min_length = 9};
  on_grid(1, 1, [&](const Mesh& mesh) {
    RandomModel m(small_model_config(tokenizer_->size()), mesh);
    Translator translator(m.replica, *tokenizer_, *tokenizer_, config);
    for (const NBest& nbest : testing::translate_lines(translator, sample_lines(3)))
      EXPECT_GE(nbest.front().tokens.size(), 9u);
    config.min_length = 200;
    EXPECT_EQ(testing::refusal_of(ErrorKind::usage, [&] { Translator(m.replica, *tokenizer_, *tokenizer_, config); }),
              "min_length = 200 must be at most 199, the most tokens that this model can generate");
  });
}

TEST_F(TranslatorTest, RefusesInvalidOptions) {
  const auto refusal = [](const DecodeConfig& c) {
    return testing::refusal_of(ErrorKind::usage, [&] { beam_options(c); });
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.beam = 2, .nbest = 3}), "nbest = 3 must be between 1 and the beam size (2)");
  EXPECT_EQ(refusal({.beam = 0}), "beam = 0 must be between 1 and 1000");
  EXPECT_EQ(refusal({.max_length_factor = -1}),
            "max_length_factor = -1 and max_length_extra = 10 must both be at least 0, and one above 0");
  EXPECT_EQ(refusal({.max_length_extra = -1}),
            "max_length_factor = 2 and max_length_extra = -1 must both be at least 0, and one above 0");
  EXPECT_EQ(refusal({.max_length_factor = 0, .max_length_extra = 0}),
            "max_length_factor = 0 and max_length_extra = 0 must both be at least 0, and one above 0");
  EXPECT_EQ(refusal({.length_penalty = 1e308}), "length_penalty = 1e+308 must be between -10 and 10");
}

}  // namespace
}  // namespace weft
