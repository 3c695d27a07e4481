// tests/trainer/inference/evaluate_test.cpp: scores of translations and given pairs, and the loss over
// blocks.
#include "trainer/inference/evaluate.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/packing/packer.h"
#include "tests/support/errors.h"
#include "tests/trainer/inference/translation_fixture.h"

namespace weft {
namespace {

using testing::on_grid;
using testing::RandomModel;
using testing::small_model_config;

constexpr int64_t kVocabulary = 40;

std::vector<PairIds> random_pairs(int count, int longest) {
  std::vector<PairIds> pairs;
  uint32_t state = 99;
  const auto draw = [&](uint32_t limit) { return (state = state * 1664525 + 1013904223) / 65536 % limit; };
  for (int i = 0; i < count; ++i) {
    PairIds pair;
    for (std::vector<int32_t>* side : {&pair.source, &pair.target}) {
      side->resize(1 + draw(static_cast<uint32_t>(longest)));
      for (int32_t& id : *side) id = static_cast<int32_t>(3 + draw(kVocabulary - 3));
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

std::vector<PairScore> score_on_grid(const std::vector<PairIds>& pairs, int dp, int tp, int64_t max_positions = 200) {
  std::vector<PairScore> scores;
  on_grid(dp, tp, [&](const Mesh& mesh) {
    RandomModel m(small_model_config(kVocabulary), mesh, max_positions);
    const std::vector<PairScore> mine = score_pairs(m.replica, pairs);
    if (mesh.world().rank() == mesh.world().size() - 1) scores = mine;
  });
  return scores;
}

TEST(ScorePairs, GivesEachPairItsOwnProbabilityInOrder) {
  const std::vector<PairIds> pairs = random_pairs(60, 30);  // several blocks of 200 rows
  const std::vector<PairScore> together = score_on_grid(pairs, 1, 1);
  ASSERT_EQ(together.size(), pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(together[i].tokens(), static_cast<int64_t>(pairs[i].target.size()) + 1);
    const PairScore alone = score_on_grid({pairs[i]}, 1, 1)[0];
    EXPECT_NEAR(together[i].log_prob, alone.log_prob, 1e-4) << i;
    EXPECT_LT(together[i].log_prob, 0);
    EXPECT_EQ(together[i].log_prob, std::accumulate(together[i].log_probs.begin(), together[i].log_probs.end(), 0.0));
  }
}

TEST(ScorePairs, LeavesOutTheProbabilityOfTokensThatAreGiven) {
  const std::vector<PairIds> pairs = random_pairs(9, 12);
  on_grid(1, 1, [&](const Mesh& mesh) {
    RandomModel m(small_model_config(kVocabulary), mesh);
    std::vector<int64_t> given, none(pairs.size(), 0);
    for (const PairIds& pair : pairs) given.push_back(std::ssize(pair.target));  // all but eos
    const std::vector<PairScore> whole = score_pairs(m.replica, pairs), ends = score_pairs(m.replica, pairs, given);
    for (size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(ends[i].tokens(), 1);
      EXPECT_EQ(ends[i].log_prob, whole[i].log_probs.back());
      EXPECT_EQ(score_pairs(m.replica, pairs, none)[i].log_prob, whole[i].log_prob);
    }
  });
}

TEST(ScorePairs, GivesTheSameOnEveryGrid) {
  const std::vector<PairIds> pairs = random_pairs(40, 30);
  const std::vector<PairScore> alone = score_on_grid(pairs, 1, 1);
  const std::vector<PairScore> dp = score_on_grid(pairs, 3, 1), tp = score_on_grid(pairs, 1, 2);
  for (size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(dp[i].log_probs, alone[i].log_probs);
    EXPECT_NEAR(tp[i].log_prob, alone[i].log_prob, 1e-3);
  }
}

TEST(ScorePairs, TakesEmptySidesAndNoPairs) {
  const std::vector<PairScore> scores =
      score_on_grid({{.source = {}, .target = {}}, {.source = {5}, .target = {}}}, 1, 1);
  EXPECT_EQ(scores[0].tokens(), 1);
  EXPECT_LT(scores[1].log_prob, 0);
  EXPECT_TRUE(score_on_grid({}, 2, 1).empty());
}

TEST(ScorePairs, RefusesAPairThatDoesNotFitAndNamesIt) {
  std::vector<PairIds> pairs = random_pairs(3, 10);
  pairs[2].target.assign(20, 4);
  testing::expect_error([&] { score_on_grid(pairs, 1, 1, /*max_positions=*/20); }, ErrorKind::data, {"pair 2"});
  pairs[2].target.pop_back();
  EXPECT_EQ(score_on_grid(pairs, 1, 1, 20).size(), 3u);
}

TEST(ValidationLoss, IsTheMeanOverAllRanksBlocks) {
  const std::vector<PairIds> pairs = random_pairs(24, 8);
  double expected = 0;
  int64_t tokens = 0;
  for (const PairScore& s : score_on_grid(pairs, 1, 1)) expected -= s.log_prob, tokens += s.tokens();
  for (const int dp : {1, 2}) {
    on_grid(dp, 1, [&](const Mesh& mesh) {
      RandomModel m(small_model_config(kVocabulary), mesh);
      std::vector<Block> blocks;
      for (size_t i = 0; i < pairs.size(); i += 8) {
        BlockBuilder builder(80, 80);
        for (size_t k = i; k < i + 8; ++k) builder.add(pairs[k].source, pairs[k].target);
        Block block = builder.finish(static_cast<int64_t>(i / 8));
        if (block.index % mesh.dp().size() == mesh.dp().rank()) blocks.push_back(block);
      }
      Arena arena(size_t{8} << 20, testing::test_device());
      Pass p{.ctx = m.ctx, .arena = arena, .tp = m.tp};
      const LossTotal total(testing::test_device());
      const LossSums plain = validation_loss(p, m.model, blocks, 0, total, mesh.dp());
      EXPECT_EQ(plain.tokens, tokens);
      EXPECT_NEAR(plain.nll(), expected / static_cast<double>(tokens), 1e-4);
      EXPECT_NEAR(plain.loss(), plain.nll(), 1e-5);
      EXPECT_NE(validation_loss(p, m.model, blocks, 0.1, total, mesh.dp()).loss(), plain.loss());
    });
  }
}

TEST(ScoreTranslations, IsBleuAndChrfOfTheLines) {
  const TranslationScore same =
      score_translations({"a b c d e f", "g h i j"}, {"a b c d e f", "g h i j"}, BleuTokenizer::v13a);
  EXPECT_EQ(same.sentences, 2);
  EXPECT_NEAR(same.bleu.score, 100, 1e-9);
  EXPECT_NEAR(same.chrf.score, 100, 1e-9);
  EXPECT_LT(score_translations({"a b c d e x"}, {"a b c d e f"}, BleuTokenizer::v13a).bleu.score, 100);
}

TEST(HeldOut, IsTheCorpusInItsOrder) {
  const testing::TemporaryFolder folder;
  const std::vector<std::string> lines = testing::sample_lines(20);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  write_file_atomically(folder / "source", text);
  write_file_atomically(folder / "target", text);
  const std::string tokenizer_file = testing::write_tokenizer(folder / "tokenizer.model");
  pack({.text = {.source = folder / "source", .target = folder / "target"},
        .output = folder / "corpus",
        .tokenizer = tokenizer_file,
        .shuffle = false},
       [](const char*, int64_t, int64_t) {});
  const Tokenizer tokenizer(tokenizer_file);
  Corpus corpus(folder / "corpus");
  const HeldOutSet all = read_held_out(corpus, tokenizer, -1);
  EXPECT_EQ(all.references, lines);
  EXPECT_EQ(all.sources[3], tokenizer.encode(lines[3]));
  EXPECT_EQ(read_held_out(corpus, tokenizer, 7).references.size(), 7u);
  EXPECT_EQ(read_held_out(corpus, tokenizer, 99).references.size(), 20u);
}

TEST(HeldOut, ATargetsTagsAreForcedAndNotInItsText) {
  const testing::TemporaryFolder folder;
  const std::vector<std::string> lines = testing::sample_lines(20);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  write_file_atomically(folder / "source", text);
  write_file_atomically(folder / "target", text);
  write_file_atomically(folder / "tags.model",
                        train_tokenizer(testing::sample_lines(400), {.vocab_size = 312, .tags = {"<2de>", "<web>"}}));
  pack({.text = {.source = folder / "source", .target = folder / "target", .target_tag = "<web> <2de>"},
        .output = folder / "corpus",
        .tokenizer = folder / "tags.model",
        .shuffle = false},
       [](const char*, int64_t, int64_t) {});
  Corpus corpus(folder / "corpus");
  const HeldOutSet set = read_held_out(corpus, Tokenizer(folder / "tags.model"), -1);
  EXPECT_EQ(set.references, lines);
  for (const std::vector<int32_t>& prefix : set.prefixes) EXPECT_EQ(prefix, (std::vector<int32_t>{4, 3}));
}

}  // namespace
}  // namespace weft
