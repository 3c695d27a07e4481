// tests/data/subword/subword_sampler_test.cpp: sampled segmentations: those that SentencePiece chooses where nothing is
// left to chance, its distribution where something is, and always the same ones for the same key.
#include "data/subword/subword_sampler.h"

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <cmath>
#include <map>

#include "data/tokenizer.h"
#include "tests/data/sentencepiece_model.h"

namespace weft {
namespace {

using testing::expect_error;
using testing::joined;
using testing::sentences;
using testing::TemporaryFolder;

using Ids = std::vector<int32_t>;

struct SubwordModel {
  std::string name;
  std::unordered_map<std::string, std::string> settings;
  double none;  // alpha that leaves nothing to chance
  double some;
};
void PrintTo(const SubwordModel& m, std::ostream* out) { *out << m.name; }

class SubwordSampling : public ::testing::TestWithParam<SubwordModel> {
 protected:
  SubwordSampling()
      : file_(testing::train_sentencepiece(folder_, GetParam().settings)), tokenizer_(file_), sampler_(file_) {}

  Ids sample(const std::string& text, double alpha, uint64_t sentence, uint32_t visit = 0, uint64_t seed = 1) const {
    CountedRandom random(seed, sentence, visit, purpose_of("test.subword"));
    return sampler_.sample(tokenizer_.normalise(text), alpha, random);
  }

  const TemporaryFolder folder_;
  const std::string file_;
  const Tokenizer tokenizer_;
  const SubwordSampler sampler_;
};

INSTANTIATE_TEST_SUITE_P(
    Models, SubwordSampling,
    ::testing::Values(
        SubwordModel{"Bpe", {{"vocab_size", "120"}}, 0, 0.3},
        SubwordModel{"BpeWithBytes", {{"vocab_size", "400"}, {"byte_fallback", "true"}}, 0, 0.1},
        SubwordModel{"BpeWithOwnPieces", {{"vocab_size", "120"}, {"user_defined_symbols", "<tag>,<b>"}}, 0, 0.3},
        SubwordModel{"Unigram", {{"model_type", "unigram"}, {"vocab_size", "90"}}, 1000, 0.1},
        SubwordModel{"UnigramWithOwnPieces",
                     {{"model_type", "unigram"}, {"vocab_size", "90"}, {"user_defined_symbols", "<tag>,<b>"}},
                     1000,
                     0.1}),
    [](const auto& info) { return info.param.name; });

std::vector<std::string> texts_to_segment() {
  std::vector<std::string> texts = sentences(60, 3);
  for (const char* text :
       {"", " ", "ka", "漢字 ka漢字 lo", "ren <tag>ka<b>ren", "\xEF\xBC\xAB\xEF\xBC\xA1 ka  lo", "x y z", "ré"})
    texts.emplace_back(text);
  return texts;
}

TEST_P(SubwordSampling, IsSentencePiecesOwnSegmentationWithoutChance) {
  for (const std::string& text : texts_to_segment())
    EXPECT_EQ(sample(text, GetParam().none, 0), tokenizer_.encode(text)) << text;
}

TEST_P(SubwordSampling, SpellsTheSameText) {
  for (const std::string& text : texts_to_segment())
    for (uint64_t sentence = 0; sentence < 20; ++sentence)
      EXPECT_EQ(tokenizer_.decode(sample(text, GetParam().some, sentence)), tokenizer_.decode(tokenizer_.encode(text)));
}

TEST_P(SubwordSampling, IsAFunctionOfSeedSentenceAndVisit) {
  const std::string text = joined(sentences(5, 5));
  const Ids ids = sample(text, GetParam().some, 7);
  EXPECT_EQ(sample(text, GetParam().some, 7), ids);
  int others = 0;
  for (uint32_t i = 1; i <= 10; ++i)
    others += (sample(text, GetParam().some, 7 + i) != ids) + (sample(text, GetParam().some, 7, i) != ids) +
              (sample(text, GetParam().some, 7, 0, 1 + i) != ids);
  EXPECT_GT(others, 15);
}

// Two samples of one distribution: the sum over words and segmentations of (a - b)^2 / (a + b) has the mean and half
// the variance of its degrees of freedom.
TEST_P(SubwordSampling, HasSentencePiecesDistribution) {
  constexpr int kWords = 100, kSamples = 1000;
  sentencepiece::SentencePieceProcessor processor;
  ASSERT_TRUE(processor.Load(file_).ok());
  double statistic = 0, freedom = 0;
  for (int word = 0; word < kWords; ++word) {
    const std::string line = sentences(word + 1, 9).back(), text = line.substr(line.find(' ') + 1, 11);
    std::map<Ids, std::array<int, 2>> counts;
    for (int i = 0; i < kSamples; ++i) {
      Ids theirs;
      ASSERT_TRUE(processor.SampleEncode(text, -1, static_cast<float>(GetParam().some), &theirs).ok());
      ++counts[theirs][0];
      ++counts[sample(text, GetParam().some, static_cast<uint64_t>(word), static_cast<uint32_t>(i))][1];
    }
    std::array<int, 2> rare{};
    const auto add = [&](const std::array<int, 2>& n) {
      statistic += std::pow(n[0] - n[1], 2) / (n[0] + n[1]);
      ++freedom;
    };
    for (const auto& [ids, n] : counts) {
      if (n[0] + n[1] >= 20) {
        add(n);
      } else {
        rare[0] += n[0], rare[1] += n[1];
      }
    }
    if (rare[0] + rare[1] > 0) add(rare);
    --freedom;
  }
  ASSERT_GT(freedom, kWords);
  EXPECT_NEAR(statistic, freedom, 5 * std::sqrt(2 * freedom));
}

TEST(PieceTable, RefusesWhatHasOneSegmentation) {
  const TemporaryFolder folder;
  const std::string file = testing::train_sentencepiece(folder, {{"model_type", "word"}, {"vocab_size", "20"}});
  expect_error([&] { SubwordSampler sampler(file); }, ErrorKind::data,
               {"needs a BPE or unigram model, which has several segmentations per sentence"});
}

TEST(PieceTable, RefusesDamagedModels) {
  const TemporaryFolder folder;
  const std::string file = testing::train_sentencepiece(folder, {});
  const std::string model = read_file(file);
  for (const std::string& bytes : {std::string(), model.substr(0, model.size() / 2), std::string("\x0b")})
    expect_error([&] { PieceTable(bytes, "some.model"); }, ErrorKind::data,
                 {"some.model is not a SentencePiece model"});
}

TEST(CountedRandom, IsUniform) {
  constexpr int kNumbers = 40000;
  double sum = 0, squares = 0;
  CountedRandom random(1, 2, 3, 4);
  for (int i = 0; i < kNumbers; ++i) {
    const double x = random.uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / kNumbers, 0.5, 5 * std::sqrt(1.0 / 12 / kNumbers));
  EXPECT_NEAR(squares / kNumbers, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kNumbers));
}

}  // namespace
}  // namespace weft
