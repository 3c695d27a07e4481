// tests/data/loader_test.cpp: on every grid, steps read ahead follow the plan and resume exactly from any
// cursor.
#include "data/loader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>

#include "data/corpus.h"
#include "data/order/variant_turns.h"
#include "tests/support/errors.h"
#include "tests/support/open_mix.h"
#include "tests/support/synthetic_corpus.h"
#include "tests/support/synthetic_lengths.h"

namespace weft {
namespace {

using testing::numbers_of;
using testing::open_mix;
using testing::synthetic_lengths;
using testing::SyntheticCorpus;

constexpr uint64_t kSeed = 11;

BatchConfig four_blocks() {
  BatchConfig config;
  config.rows = 96;
  config.blocks = 4;
  config.look_ahead = 16;
  config.page = 16;
  config.window = 4;
  return config;
}

BatchConfig for_mix(const Mix& mix) {
  BatchConfig config = four_blocks();
  config.source_rows = source_rows_for(mix.corpora, config.rows);
  return config;
}

BatchConfig for_corpus(const SyntheticCorpus& corpus) { return for_mix(open_mix(corpus.folder())); }

Loader load(const SyntheticCorpus& corpus, int dp_rank = 0, int dp = 1, const StepCursor& start = {}) {
  return Loader(open_mix(corpus.folder()), for_corpus(corpus), kSeed, dp_rank, dp, start);
}

// The expected blocks, built from the plan and the known ids.
Block expected_block(const SyntheticCorpus& corpus, const std::vector<int64_t>& pairs, int64_t index,
                     const BatchConfig& config) {
  BlockBuilder builder(config.source_rows, config.rows);
  for (const int64_t number : pairs) builder.add(corpus.pair(number).source, corpus.pair(number).target);
  return builder.finish(index);
}

void expect_equal(const Block& block, const Block& expected) {
  ASSERT_EQ(block.index, expected.index);
  ASSERT_EQ(block.source, expected.source);
  ASSERT_EQ(block.source_positions, expected.source_positions);
  ASSERT_EQ(block.source_offsets, expected.source_offsets);
  ASSERT_EQ(block.target_in, expected.target_in);
  ASSERT_EQ(block.target_out, expected.target_out);
  ASSERT_EQ(block.target_positions, expected.target_positions);
  ASSERT_EQ(block.target_offsets, expected.target_offsets);
}

StepPlan plan_of(Corpus& corpus, const BatchConfig& config, const StepCursor& start = {}) {
  const LengthSource lengths = [&](int64_t /*epoch*/, int64_t first, int64_t count, std::vector<PairLength>& out) {
    corpus.read_lengths(first, count, out);
  };
  return StepPlan(testing::only(corpus.num_pairs(), lengths), config, kSeed, 0, 1, start);
}

StepCursor together(const std::vector<std::unique_ptr<Loader>>& ranks) {
  StepCursor all = ranks[0]->cursor();
  for (const auto& rank : ranks) all.streams.merge(rank->cursor().streams);
  return all;
}

TEST(Loader, BlocksOfAllRanksTogetherAreThePlan) {
  const SyntheticCorpus corpus(synthetic_lengths(300, 1), 90);
  const BatchConfig config = for_corpus(corpus);
  for (const int dp : {1, 2, 3, 4, 6}) {
    SCOPED_TRACE(fmt::format("dp {}", dp));
    Corpus lengths(corpus.folder());
    StepPlan plan = plan_of(lengths, config);
    std::vector<std::unique_ptr<Loader>> ranks;
    for (int rank = 0; rank < dp; ++rank)
      ranks.push_back(std::make_unique<Loader>(open_mix(corpus.folder()), config, kSeed, rank, dp));
    for (PlannedStep planned = plan.next(); planned.epochs.at(0) < 2; planned = plan.next()) {
      int64_t index = 0;
      for (const auto& rank : ranks) {
        const Step step = rank->next();
        if (index == 0) {
          ASSERT_EQ(step.corpora.front().epoch, planned.epochs.at(0));
        }
        if (step.blocks.front().num_sentences() == 0) continue;  // a rank too many
        for (const Block& block : step.blocks) {
          const auto i = static_cast<size_t>(index);
          expect_equal(block, expected_block(corpus, numbers_of(planned.blocks.at(i)), index++, config));
        }
      }
      ASSERT_EQ(index, config.blocks);
      ASSERT_EQ(together(ranks), plan.cursor());
    }
  }
}

TEST(Loader, ReadsTheBlocksOfAMixOnEveryGridAndAfterEveryStop) {
  const SyntheticCorpus large(synthetic_lengths(900, 1), 90, /*variants=*/3),
      small(synthetic_lengths(40, 2), 40, /*variants=*/4), tiny(synthetic_lengths(5, 3));
  const std::vector<const SyntheticCorpus*> corpora = {&large, &small, &tiny};
  const auto mix = [&] { return open_mix({{large.folder(), 6}, {small.folder(), 3}, {tiny.folder(), 1}}); };
  const BatchConfig config = for_mix(mix());
  Loader alone(mix(), config, kSeed, 0, 1);
  StepCursor cursor = alone.cursor();
  for (const int dp : {1, 2, 4, 3, 1}) {
    std::vector<std::unique_ptr<Loader>> ranks;
    for (int rank = 0; rank < dp; ++rank)
      ranks.push_back(std::make_unique<Loader>(mix(), config, kSeed, rank, dp, cursor));
    for (int i = 0; i < 6; ++i) {
      const Step expected = alone.next();
      size_t index = 0;
      for (const auto& rank : ranks)
        for (const Block& block : rank->next().blocks) {
          const Block& other = expected.blocks.at(index++);
          expect_equal(block, other);
          ASSERT_EQ(block.pairs, other.pairs);
          ASSERT_EQ(std::ssize(block.pairs), block.num_sentences());
          for (size_t k = 0; k < block.pairs.size(); ++k) {  // the tokens are those of the pair that it names
            const EpochPair& p = block.pairs[k];
            const int64_t variants = p.corpus == 0 ? 3 : p.corpus == 1 ? 4 : 1;
            const int64_t variant = VariantTurns(kSeed, p.corpus, variants).at(p.epoch);
            const PairIds ids = corpora[static_cast<size_t>(p.corpus)]->pair(p.pair, variant);
            ASSERT_EQ(block.source_offsets[k + 1] - block.source_offsets[k], std::ssize(ids.source) + 1);
            ASSERT_TRUE(
                std::equal(ids.source.begin(), ids.source.end(), block.source.begin() + block.source_offsets[k]));
          }
        }
    }
    cursor = together(ranks);
    ASSERT_EQ(cursor, alone.cursor());
  }
}

TEST(Loader, GivesEachVariantOfEachPairOnceInAsManyEpochs) {
  constexpr int64_t kVariants = 3;
  const SyntheticCorpus corpus(synthetic_lengths(200, 2), 70, kVariants);
  Loader loader = load(corpus);
  std::map<int64_t, std::map<int64_t, int64_t>> given;  // pair -> source tokens beyond its first variant -> times
  for (Step step = loader.next(); step.corpora.front().epoch <= 2 * kVariants; step = loader.next())
    for (const Block& block : step.blocks)
      for (size_t k = 0; k < block.pairs.size(); ++k) {
        const EpochPair& p = block.pairs[k];
        if (p.epoch >= 2 * kVariants) continue;
        const int64_t tokens = block.source_offsets[k + 1] - block.source_offsets[k] - 1;
        ++given[p.pair][tokens - corpus.length(p.pair).source];
      }
  const std::map<int64_t, int64_t> each{{0, 2}, {1, 2}, {2, 2}};
  ASSERT_EQ(given.size(), 200u);
  for (const auto& [pair, variants] : given) ASSERT_EQ(variants, each) << "pair " << pair;
}

TEST(Loader, ResumesFromTheCursorAfterAnyStep) {
  const SyntheticCorpus corpus(synthetic_lengths(200, 2));
  Loader undisturbed = load(corpus);
  std::vector<StepCursor> cursors = {undisturbed.cursor()};
  std::vector<Step> steps;
  while (steps.empty() || steps.back().corpora.front().epoch < 3) {
    steps.push_back(undisturbed.next());
    cursors.push_back(undisturbed.cursor());
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    const int dp = 1 << (i % 3);  // the cursor may come from another grid
    Loader resumed = load(corpus, 0, dp, cursors[i]);
    for (size_t j = i; j < std::min(i + 3, steps.size()); ++j) {
      const Step step = resumed.next();
      ASSERT_EQ(step.corpora.front().epoch, steps[j].corpora.front().epoch);
      ASSERT_EQ(step.blocks.size(), static_cast<size_t>(4 / dp));
      for (size_t k = 0; k < step.blocks.size(); ++k) expect_equal(step.blocks[k], steps[j].blocks[k]);
      for (const auto& [stream, cursor] : resumed.cursor().streams)
        ASSERT_EQ(cursor, cursors[j + 1].streams.at(stream));
    }
  }
}

TEST(Loader, ReadsCorporaAsTheyWereWhenTheyWereOpened) {
  const SyntheticCorpus first(synthetic_lengths(200, 2)), second(synthetic_lengths(50, 3));
  const auto open = [&] { return open_mix({{first.folder(), 3}, {second.folder(), 1}}); };
  const Mix mix = open();
  Loader own(open(), for_mix(mix), kSeed, 0, 1);
  for (const SyntheticCorpus* corpus : {&first, &second}) std::filesystem::remove(corpus->folder() + "/manifest.json");
  for (int round = 0; round < 2; ++round) {  // a mix is read again
    Loader given(mix, for_mix(mix), kSeed, 0, 1);
    if (round == 0) expect_equal(given.next().blocks.at(3), own.next().blocks.at(3));
    given.next();
  }
}

TEST(Loader, CountsPairsPassedOverInItsBlocks) {
  std::vector<PairLength> lengths = synthetic_lengths(200, 3);
  lengths[7] = lengths[80] = {5, 96};
  const SyntheticCorpus corpus(lengths);
  Loader loader = load(corpus);
  int64_t dropped = 0;
  for (Step step = loader.next(); step.corpora.front().epoch < 2; step = loader.next()) dropped += step.dropped;
  EXPECT_GE(dropped, 3);  // two in each epoch, which streams end a little sooner or later
  EXPECT_LE(dropped, 6);
}

TEST(Loader, StopsWhenNobodyAsksForASecondStep) {
  const SyntheticCorpus corpus(synthetic_lengths(200, 4));
  for (int i = 0; i < 20; ++i) load(corpus);
  load(corpus).next();
}

TEST(Loader, HandsAnErrorOfTheReadingThreadToNextEachTime) {
  const SyntheticCorpus corpus(synthetic_lengths(300, 5), 100);
  std::ofstream(corpus.shard_file(1), std::ios::app) << "damage";
  Loader loader = load(corpus);
  EXPECT_THROW(while (true) loader.next(), Error);
  const Error error = testing::error_of([&] { loader.next(); });
  EXPECT_EQ(error.kind(), ErrorKind::data);
  EXPECT_NE(std::string(error.what()).find("shard-1.h5"), std::string::npos) << error.what();
  ASSERT_FALSE(error.frames().empty());
  EXPECT_NE(error.frames().front().find(corpus.folder()), std::string::npos);
}

TEST(Loader, GoesRoundACorpusOfTwoPairs) {
  const SyntheticCorpus corpus({{12, 12}, {12, 12}});
  Loader loader = load(corpus);
  for (int i = 0; i < 30; ++i) {
    const Step step = loader.next();
    for (const Block& block : step.blocks) EXPECT_EQ(block.num_sentences(), 7);
  }
  for (const auto& [stream, cursor] : loader.cursor().streams) EXPECT_GT(cursor.corpora[0].epoch, 300);
}

TEST(SourceRows, FollowTheRatioOfTheCorpus) {
  const SyntheticCorpus longer({{29, 9}, {29, 9}}), shorter({{2, 99}});
  EXPECT_EQ(source_rows_for(open_mix(longer.folder()).corpora, 1000), 3008);  // 3000, rounded to a multiple of 16
  EXPECT_EQ(source_rows_for(open_mix(shorter.folder()).corpora, 1600), 48);
  EXPECT_EQ(source_rows_for(open_mix(shorter.folder()).corpora, 100), 16);
}

TEST(LoadAllBlocks, GivesEachPairOnceInTheCorpusOrder) {
  const SyntheticCorpus corpus(synthetic_lengths(100, 7), 30);
  const BatchConfig config = for_corpus(corpus);
  Corpus opened(corpus.folder());
  const std::vector<Block> blocks = load_all_blocks(opened, config, 0, 1);
  int64_t next = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::vector<int64_t> pairs(static_cast<size_t>(blocks[i].num_sentences()));
    std::iota(pairs.begin(), pairs.end(), next);
    next += blocks[i].num_sentences();
    expect_equal(blocks[i], expected_block(corpus, pairs, static_cast<int64_t>(i), config));
  }
  EXPECT_EQ(next, 100);
}

TEST(LoadAllBlocks, DealsBlocksToTheRanksInTurn) {
  const SyntheticCorpus corpus(synthetic_lengths(100, 7));
  const BatchConfig config = for_corpus(corpus);
  Corpus opened(corpus.folder());
  const std::vector<Block> all = load_all_blocks(opened, config, 0, 1);
  size_t num_blocks = 0;
  for (int rank = 0; rank < 3; ++rank)
    for (const Block& block : load_all_blocks(opened, config, rank, 3)) {
      EXPECT_EQ(block.index % 3, rank);
      expect_equal(block, all.at(static_cast<size_t>(block.index)));
      ++num_blocks;
    }
  EXPECT_EQ(num_blocks, all.size());
}

TEST(LoadAllBlocks, RefusesToLeaveAPairOut) {
  std::vector<PairLength> lengths = synthetic_lengths(100, 8);
  lengths[40] = {5, 96};
  const SyntheticCorpus corpus(lengths);
  Corpus opened(corpus.folder());
  testing::expect_error([&] { load_all_blocks(opened, for_corpus(corpus), 0, 1); }, ErrorKind::data,
                        {"1 of 100 pairs do not fit", "raise batch.rows"});
}

}  // namespace
}  // namespace weft
