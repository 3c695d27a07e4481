// tests/data/order/min_score_test.cpp: streams of the pairs that have at least a given score.
#include "data/order/min_score.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "data/loader.h"
#include "tests/support/errors.h"
#include "tests/support/open_mix.h"
#include "tests/support/synthetic_corpus.h"
#include "tests/support/synthetic_lengths.h"

namespace weft {
namespace {

using testing::expect_error;
using testing::open_mix;
using testing::synthetic_lengths;
using testing::SyntheticCorpus;

constexpr uint64_t kSeedOfScores = 5;

std::vector<MixCorpus> two_folders() { return {{"clean", 3}, {"crawl:x", 1}}; }

// Pair i has the score 0.1 (i % 10).
SyntheticCorpus scored(int64_t num_pairs, uint64_t seed) {
  return SyntheticCorpus(synthetic_lengths(num_pairs, seed), 90,
                         {.weight = {}, .score = [](int64_t i) { return 0.1f * static_cast<float>(i % 10); }});
}

BatchConfig small_blocks(int64_t blocks) {
  BatchConfig config;
  config.rows = config.source_rows = 96;
  config.blocks = blocks;
  config.look_ahead = 16, config.page = 16, config.window = 4;
  return config;
}

Mix above(const SyntheticCorpus& corpus, float min_score) { return open_mix({{corpus.folder(), 1, min_score}}); }

TEST(MinScore, IsOneNumberForAllCorporaOrOneForEachThatIsNamed) {
  std::vector<MixCorpus> mix = two_folders();
  set_min_scores("data.min_score", "", mix);
  EXPECT_EQ(mix, two_folders());
  set_min_scores("data.min_score", "-1.5", mix);
  EXPECT_EQ(mix[0].min_score, -1.5f);
  EXPECT_EQ(mix[1].min_score, -1.5f);
  mix = two_folders();
  set_min_scores("data.min_score", "crawl:x:0.7", mix);
  EXPECT_EQ(mix[0].min_score, std::nullopt);
  EXPECT_EQ(mix[1].min_score, 0.7f);
  EXPECT_EQ(min_scores_text(mix), "crawl:x:0.7");
  mix = two_folders();
  set_min_scores("data.min_score", "clean:0.5, crawl:x:0.7", mix);
  EXPECT_EQ(mix[1].min_score, 0.7f);
}

TEST(MinScore, ThatMeansNothingIsRefused) {
  for (const auto& [text, why] : {std::pair{"high", "data.min_score = 'high' is not a min score: give a number"},
                                  {"clean:", "such as clean:0.8"},
                                  {"clean:nan", "is not a min score: give a number"},
                                  {"inf", "is not a min score: give a number"},
                                  {"clean:0.5,", "is not a min score: give a number"},
                                  {"other:0.5", "data.min_score names other, which is not in the mix clean:3,"},
                                  {"clean:0.5,clean:0.6", "names clean twice"}}) {
    std::vector<MixCorpus> mix = two_folders();
    expect_error([&, text = text] { set_min_scores("data.min_score", text, mix); }, ErrorKind::usage, {why});
  }
}

TEST(MinScore, CountsThePairsThatHaveIt) {
  const SyntheticCorpus corpus = scored(245, 1);
  Corpus opened(corpus.folder());
  EXPECT_EQ(count_usable(opened, -1), 245);
  EXPECT_EQ(count_usable(opened, 0.1f * 7), 72);  // 7, 8 and 9 of each ten
  EXPECT_EQ(count_usable(opened, 0.9f + 1e-3f), 0);
}

// In each epoch each pair that has the score is given once, and the others are never given. All of them are passed.
TEST(MinScore, GivesEachPairThatHasItOnceInAnEpoch) {
  const SyntheticCorpus corpus = scored(600, 1);
  for (const int64_t blocks : {1, 8}) {
    Loader loader(above(corpus, 0.65f), small_blocks(blocks), kSeedOfScores, 0, 1);
    std::map<int64_t, std::map<int64_t, int64_t>> seen;  // epoch -> pair -> times
    int64_t given = 0, passed = 0, below = 0;
    while (given < 5 * 180) {
      const Step step = loader.next();
      passed += step.corpora.at(0).passed, below += step.below_score;
      for (const Block& block : step.blocks)
        for (const EpochPair& p : block.pairs) {
          ASSERT_GE(p.pair % 10, 7);
          ++seen[p.epoch][p.pair], ++given;
        }
    }
    for (const auto& [epoch, pairs] : seen)
      for (const auto& [pair, times] : pairs) ASSERT_EQ(times, 1) << "pair " << pair << " in epoch " << epoch;
    for (const int64_t epoch : {0, 1}) EXPECT_EQ(seen[epoch].size(), 180u);
    EXPECT_EQ(passed, given + below);
    EXPECT_NEAR(static_cast<double>(below) / static_cast<double>(passed), 0.7, 0.05);
  }
}

TEST(MinScore, GivesTheSameBlocksOnEveryGridAndAfterEveryStop) {
  const SyntheticCorpus large = scored(900, 1), small(synthetic_lengths(60, 2));
  const auto mix = [&] { return open_mix({{large.folder(), 2, 0.45f}, {small.folder(), 1}}); };
  Loader alone(mix(), small_blocks(4), kSeedOfScores, 0, 1);
  StepCursor cursor = alone.cursor();
  for (const int dp : {1, 2, 4, 3}) {
    std::vector<std::unique_ptr<Loader>> ranks;
    for (int rank = 0; rank < dp; ++rank)
      ranks.push_back(std::make_unique<Loader>(mix(), small_blocks(4), kSeedOfScores, rank, dp, cursor));
    for (int i = 0; i < 5; ++i) {
      const Step expected = alone.next();
      size_t index = 0;
      int64_t below = 0;
      for (const auto& rank : ranks) {
        const Step step = rank->next();
        below += step.below_score;
        for (const Block& block : step.blocks) {
          ASSERT_EQ(block.pairs, expected.blocks.at(index).pairs);
          ASSERT_EQ(block.target_out, expected.blocks.at(index++).target_out);
        }
      }
      ASSERT_EQ(below, expected.below_score);
    }
    cursor = ranks[0]->cursor();
    for (const auto& rank : ranks) cursor.streams.merge(rank->cursor().streams);
    ASSERT_EQ(cursor, alone.cursor());
  }
}

TEST(MinScore, LeavesTheSharesOfAMixExact) {
  const SyntheticCorpus large = scored(900, 1), small(synthetic_lengths(200, 2));
  Loader loader(open_mix({{large.folder(), 3, 0.75f}, {small.folder(), 1}}), small_blocks(1), kSeedOfScores, 0, 1);
  int64_t ahead = 0;  // of the first corpus, in quarters of a pair
  for (int i = 0; i < 300; ++i)
    for (const Block& block : loader.next().blocks) {
      for (const EpochPair& pair : block.pairs) ahead += pair.corpus == 0 ? 1 : -3;
      ASSERT_LE(std::abs(ahead), 4 * 2);
    }
}

TEST(MinScore, RaisedLaterLeavesOutPairsThatWerePending) {
  const SyntheticCorpus corpus = scored(600, 1);
  Loader before(above(corpus, 0.0f), small_blocks(1), kSeedOfScores, 0, 1);
  before.next();
  Loader after(above(corpus, 0.85f), small_blocks(1), kSeedOfScores, 0, 1, before.cursor());
  int64_t given = 0, passed = 0, below = 0;
  for (int i = 0; i < 10; ++i) {
    const Step step = after.next();
    passed += step.corpora.at(0).passed, below += step.below_score;
    for (const EpochPair& pair : step.blocks.at(0).pairs) {
      ASSERT_EQ(pair.pair % 10, 9);
      ++given;
    }
  }
  EXPECT_GT(passed, given + below) << "those that were pending count as passed";
}

TEST(MinScore, OfFewPairsIsFoundInManyStreams) {
  const SyntheticCorpus corpus(synthetic_lengths(900, 1), 90,
                               {.weight = {}, .score = [](int64_t i) { return i == 123 ? 1.0f : 0.0f; }});
  StepCursor cursor{.num_streams = 8, .streams = {}};
  for (int64_t stream = 0; stream < 8; ++stream) cursor.streams[stream].corpora = {{}};
  Loader loader(above(corpus, 0.5f), small_blocks(8), kSeedOfScores, 0, 1, cursor);
  for (const Block& block : loader.next().blocks)
    for (const EpochPair& pair : block.pairs) EXPECT_EQ(pair.pair, 123);
}

}  // namespace
}  // namespace weft
