// tests/data/order/single_corpus_test.cpp: the division of a corpus's order into blocks is complete, balanced and
// resumable.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/support/errors.h"
#include "tests/support/synthetic_lengths.h"

namespace weft {
namespace {

using testing::numbers_of;
using testing::source_of;
using testing::synthetic_lengths;

BatchConfig small_config() {
  BatchConfig config;
  config.rows = 128;
  config.source_rows = 128;
  config.look_ahead = 16;
  config.page = 16;
  config.window = 4;
  return config;
}

class OnePlan {  // of a single corpus
 public:
  OnePlan(int64_t num_pairs, LengthSource lengths, const BatchConfig& config, uint64_t seed, bool shuffle = true)
      : plan_(testing::only(num_pairs, std::move(lengths)), config, seed, shuffle) {}
  PlannedBlock next() { return plan_.next(); }
  Cursor cursor() const { return plan_.cursor().corpora.at(0); }
  void seek(const Cursor& cursor) { plan_.seek({.corpora = {cursor}}); }
  int64_t dropped() const { return plan_.dropped(); }

 private:
  MixPlan plan_;
};

// Source rows in the corpus's ratio, rounded to a multiple of 16.
int64_t source_rows(const std::vector<PairLength>& lengths, int64_t target_rows) {
  int64_t source = 0, target = 0;
  for (const PairLength& length : lengths) {
    source += length.source + 1;
    target += length.target + 1;
  }
  return (source * target_rows / target + 8) / 16 * 16;
}

// The documentation promises 99 %. The bound of 99.8 % needs both parts of the method: without the exchange
// 256 rows reach 98.7 %, without the choice by balance 1024 rows reach 99.5 %.
TEST(MixPlanOfOneCorpus, FillsBothSidesAboveNinetyNinePercent) {
  const std::vector<PairLength> lengths = synthetic_lengths(29000, 1);
  for (const int64_t rows : {256, 1024, 2048, 4096}) {
    BatchConfig config;
    config.rows = rows;
    config.source_rows = source_rows(lengths, rows);
    OnePlan plan(29000, source_of(lengths), config, 1);
    int64_t num_blocks = 0, source = 0, target = 0;
    while (plan.cursor().epoch < 3) {
      const PlannedBlock block = plan.next();
      source += block.source_tokens;
      target += block.target_tokens;
      ++num_blocks;
    }
    EXPECT_GT(static_cast<double>(source), 0.998 * static_cast<double>(num_blocks * config.source_rows)) << rows;
    EXPECT_GT(static_cast<double>(target), 0.998 * static_cast<double>(num_blocks * rows)) << rows;
  }
}

TEST(MixPlanOfOneCorpus, BlocksHoldWhatTheyCount) {
  const std::vector<PairLength> lengths = synthetic_lengths(1000, 2);
  OnePlan plan(1000, source_of(lengths), small_config(), 1);
  for (int i = 0; i < 300; ++i) {
    const PlannedBlock block = plan.next();
    int64_t source = 0, target = 0;
    for (const int64_t pair : numbers_of(block)) {
      source += lengths.at(static_cast<size_t>(pair)).source + 1;
      target += lengths.at(static_cast<size_t>(pair)).target + 1;
    }
    ASSERT_EQ(block.source_tokens, source);
    ASSERT_EQ(block.target_tokens, target);
    ASSERT_LE(source, 128);
    ASSERT_LE(target, 128);
    ASSERT_FALSE(block.pairs.empty());
  }
}

// Planned and pending pairs together are the stream so far: each pair once for every epoch that has begun.
TEST(MixPlanOfOneCorpus, UsesEveryPairOnceAnEpoch) {
  const int64_t num_pairs = 1000;
  OnePlan plan(num_pairs, source_of(synthetic_lengths(num_pairs, 3)), small_config(), 1);
  std::vector<int64_t> given(num_pairs, 0);
  while (plan.cursor().epoch < 6) {
    for (const int64_t pair : numbers_of(plan.next())) ++given.at(static_cast<size_t>(pair));
    const Cursor cursor = plan.cursor();
    std::vector<int64_t> seen = given;
    for (const int64_t pair : cursor.pending) ++seen.at(static_cast<size_t>(pair));
    ASSERT_EQ(std::count(seen.begin(), seen.end(), cursor.epoch + 1), cursor.position);
    ASSERT_EQ(std::count(seen.begin(), seen.end(), cursor.epoch), num_pairs - cursor.position);
  }
}

// A tenth of the pairs is so unbalanced that a choice by balance alone would always skip them.
TEST(MixPlanOfOneCorpus, NoPairWaitsLongerThanTheLookAhead) {
  std::vector<PairLength> lengths = synthetic_lengths(5000, 4);
  for (size_t i = 0; i < lengths.size(); i += 10) lengths[i] = {60, 1};
  const BatchConfig config = small_config();
  OnePlan plan(5000, source_of(lengths), config, 1);
  std::map<int64_t, int64_t> waited;
  int64_t longest = 0;
  for (Cursor cursor = plan.cursor(); cursor.epoch == 0; cursor = plan.cursor()) {
    std::map<int64_t, int64_t> still_waiting;
    for (const int64_t pair : cursor.pending) longest = std::max(longest, still_waiting[pair] = waited[pair] + 1);
    waited = std::move(still_waiting);
    plan.next();
  }
  EXPECT_LE(longest, config.look_ahead + 1);
}

TEST(MixPlanOfOneCorpus, ResumesFromEveryCursorAsIfUndisturbed) {
  const std::vector<PairLength> lengths = synthetic_lengths(500, 5);
  OnePlan undisturbed(500, source_of(lengths), small_config(), 7);
  std::vector<Cursor> cursors;
  std::vector<std::vector<int64_t>> blocks;
  while (undisturbed.cursor().epoch < 4) {
    cursors.push_back(undisturbed.cursor());
    blocks.push_back(numbers_of(undisturbed.next()));
  }
  OnePlan seeking(500, source_of(lengths), small_config(), 7);
  for (size_t i = cursors.size(); i-- > 0;) {
    seeking.seek(cursors[i]);
    ASSERT_EQ(seeking.cursor(), cursors[i]);
    for (size_t j = i; j < std::min(i + 12, blocks.size()); ++j) ASSERT_EQ(numbers_of(seeking.next()), blocks[j]);
  }
}

TEST(MixPlanOfOneCorpus, SeedDecidesTheOrder) {
  const std::vector<PairLength> lengths = synthetic_lengths(500, 5);
  OnePlan one(500, source_of(lengths), small_config(), 1), again(500, source_of(lengths), small_config(), 1),
      two(500, source_of(lengths), small_config(), 2);
  const std::vector<int64_t> first = numbers_of(one.next());
  EXPECT_EQ(numbers_of(again.next()), first);
  EXPECT_NE(numbers_of(two.next()), first);
}

// A run that a later version resumes must keep its order.
TEST(MixPlanOfOneCorpus, KeepsItsOrderForEver) {
  OnePlan plan(500, source_of(synthetic_lengths(500, 5)), small_config(), 1);
  for (int i = 0; i < 50; ++i) plan.next();
  EXPECT_EQ(numbers_of(plan.next()), (std::vector<int64_t>{426, 438, 385, 388, 135, 410, 393, 402, 259}));
}

TEST(MixPlanOfOneCorpus, HoldsLengthsOfOneWindowOnly) {
  const std::vector<PairLength> lengths = synthetic_lengths(5000, 6);
  const BatchConfig config = small_config();
  int64_t largest_read = 0, num_read = 0;
  const auto counting = [&](int64_t /*epoch*/, int64_t first, int64_t count, std::vector<PairLength>& out) {
    largest_read = std::max(largest_read, count);
    num_read += count;
    source_of(lengths)(0, first, count, out);
  };
  OnePlan plan(5000, counting, config, 1);
  while (plan.cursor().epoch < 2) {
    plan.next();
    const Cursor cursor = plan.cursor();
    ASSERT_LE(num_read, cursor.epoch * 5000 + cursor.position + config.window * config.page);
  }
  EXPECT_LE(largest_read, config.page);
}

TEST(MixPlanOfOneCorpus, PassesOverPairsThatFitNoBlockAndCountsThem) {
  std::vector<PairLength> lengths = synthetic_lengths(200, 7);
  lengths[3] = {128, 5};  // with eos one row too many
  lengths[100] = {5, 128};
  lengths[150] = {127, 127};  // fills a block
  OnePlan plan(200, source_of(lengths), small_config(), 1);
  std::vector<int64_t> given;
  while (plan.cursor().epoch < 2)
    for (const int64_t pair : numbers_of(plan.next())) given.push_back(pair);
  EXPECT_EQ(std::count(given.begin(), given.end(), 3), 0);
  EXPECT_EQ(std::count(given.begin(), given.end(), 100), 0);
  EXPECT_GE(std::count(given.begin(), given.end(), 150), 1);
  EXPECT_GE(plan.dropped(), 4);  // two in each of the epochs 0 and 1; epoch 2 has begun
  EXPECT_LE(plan.dropped(), 6);
}

TEST(MixPlanOfOneCorpus, GoesOnWithOnePairThatFitsWhereverItLiesInAnEpoch) {
  const std::vector<PairLength> lengths = {{12, 12}, {500, 500}};
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    OnePlan plan(2, source_of(lengths), small_config(), seed);
    for (const int64_t pair : numbers_of(plan.next())) EXPECT_EQ(pair, 0);
  }
}

TEST(MixPlanOfOneCorpus, GoesRoundACorpusSmallerThanABlockEvenly) {
  const std::vector<PairLength> lengths = {{12, 12}, {10, 12}};
  OnePlan plan(2, source_of(lengths), small_config(), 1);
  for (int i = 0; i < 20; ++i) {
    const PlannedBlock block = plan.next();
    EXPECT_GE(block.pairs.size(), 9u);
    const std::vector<int64_t> pairs = numbers_of(block);
    const auto ones = std::count(pairs.begin(), pairs.end(), 1);
    EXPECT_GE(ones, 3);
    EXPECT_LE(ones, 7);
  }
}

TEST(MixPlanOfOneCorpus, UnshuffledGivesTheCorpusInOrderOnceAndThenEmptyBlocks) {
  std::vector<PairLength> lengths = synthetic_lengths(300, 8);
  OnePlan plan(300, source_of(lengths), small_config(), 1, /*shuffle=*/false);
  std::vector<int64_t> given;
  for (PlannedBlock block = plan.next(); !block.pairs.empty(); block = plan.next())
    for (const int64_t pair : numbers_of(block)) given.push_back(pair);
  ASSERT_EQ(given.size(), 300u);
  EXPECT_TRUE(std::is_sorted(given.begin(), given.end()));
  EXPECT_EQ(plan.cursor(), (Cursor{1, 0, {}}));
  EXPECT_EQ(plan.next().source_tokens, 0);
}

TEST(MixPlanOfOneCorpus, RefusesWhatCannotWork) {
  const auto error_of = [](const std::vector<PairLength>& lengths, const BatchConfig& config, const Cursor& cursor) {
    const Error error = testing::error_of([&] {
      OnePlan plan(std::ssize(lengths), source_of(lengths), config, 1);
      plan.seek(cursor);
      plan.next();
    });
    return std::string(error.what());
  };
  const std::vector<PairLength> lengths = synthetic_lengths(20, 9);
  EXPECT_NE(error_of({}, small_config(), {}).find("no pairs"), std::string::npos);
  EXPECT_NE(error_of({{500, 500}}, small_config(), {}).find("raise batch.rows"), std::string::npos);
  EXPECT_NE(error_of(lengths, small_config(), {0, 21, {}}).find("outside a corpus of 20 pairs"), std::string::npos);
  EXPECT_NE(error_of(lengths, small_config(), {0, 5, {20}}).find("outside a corpus of 20 pairs"), std::string::npos);
}

// The fill is measured on lengths like those of a real corpus (means 13 to 14, one side following the other).
TEST(SyntheticLengths, AreLikeThoseOfARealCorpus) {
  const std::vector<PairLength> lengths = synthetic_lengths(29000, 1);
  double source = 0, target = 0, source_squares = 0, target_squares = 0, products = 0;
  for (const PairLength& length : lengths) {
    source += length.source / 29000.0;
    target += length.target / 29000.0;
    source_squares += length.source * length.source / 29000.0;
    target_squares += length.target * length.target / 29000.0;
    products += length.source * length.target / 29000.0;
  }
  EXPECT_NEAR(source, 13.5, 0.6);
  EXPECT_NEAR(target, 13.5, 0.6);
  const double variances = (source_squares - source * source) * (target_squares - target * target);
  EXPECT_NEAR((products - source * target) / std::sqrt(variances), 0.87, 0.05);
}

}  // namespace
}  // namespace weft
