// tests/data/order/pair_order_test.cpp: each epoch is a permutation of the corpus, window by window.
#include "data/order/pair_order.h"

#include <gtest/gtest.h>

#include <set>

namespace weft {
namespace {

LengthSource lengths_equal_to_number() {
  return [](int64_t /*visit*/, int64_t first, int64_t count, std::vector<PairLength>& out) {
    out.clear();
    for (int64_t i = first; i < first + count; ++i) out.push_back({static_cast<int32_t>(i), 1});
  };
}

std::vector<int64_t> epoch_of(PairOrder& order, int64_t epoch, int64_t num_pairs) {
  std::vector<int64_t> pairs;
  for (int64_t i = 0; i < num_pairs; ++i) pairs.push_back(order.at(epoch, i).pair);
  return pairs;
}

TEST(PairOrder, EveryEpochVisitsEachPairOnce) {
  for (const int64_t num_pairs : {1, 2, 7, 64, 100, 257})
    for (const int64_t page : {1, 3, 16, 1000})
      for (const int64_t window : {1, 2, 5}) {
        PairOrder order(num_pairs, lengths_equal_to_number(), {.page = page, .window = window, .seed = 9});
        for (int64_t epoch = 0; epoch < 4; ++epoch) {
          const std::vector<int64_t> pairs = epoch_of(order, epoch, num_pairs);
          const std::set<int64_t> distinct(pairs.begin(), pairs.end());
          EXPECT_EQ(static_cast<int64_t>(distinct.size()), num_pairs) << page << " x " << window;
        }
      }
}

TEST(PairOrder, AnyPositionCanBeAskedForDirectly) {
  const int64_t num_pairs = 107;
  PairOrder order(num_pairs, lengths_equal_to_number(), {.page = 10, .window = 3, .seed = 9});
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    const std::vector<int64_t> pairs = epoch_of(order, epoch, num_pairs);
    for (int64_t i = num_pairs - 1; i >= 0; --i)
      EXPECT_EQ(PairOrder(num_pairs, lengths_equal_to_number(), {.page = 10, .window = 3, .seed = 9}).at(epoch, i).pair,
                pairs[static_cast<size_t>(i)]);
  }
}

TEST(PairOrder, AWindowHoldsWholePages) {
  const int64_t page = 8, window = 4;
  PairOrder order(320, lengths_equal_to_number(), {.page = page, .window = window, .seed = 1});
  const std::vector<int64_t> pairs = epoch_of(order, 0, 320);
  for (size_t begin = 0; begin < pairs.size(); begin += page * window) {
    std::set<int64_t> pages;
    for (size_t i = begin; i < begin + page * window; ++i) pages.insert(pairs[i] / page);
    EXPECT_EQ(pages.size(), static_cast<size_t>(window)) << "window at " << begin;
  }
}

TEST(PairOrder, SeedsAndEpochsDiffer) {
  PairOrder one(1000, lengths_equal_to_number(), {.page = 16, .window = 4, .seed = 1}),
      two(1000, lengths_equal_to_number(), {.page = 16, .window = 4, .seed = 2});
  EXPECT_NE(epoch_of(one, 0, 1000), epoch_of(one, 1, 1000));
  EXPECT_NE(epoch_of(one, 0, 1000), epoch_of(two, 0, 1000));
}

TEST(PairOrder, UnshuffledIsTheCorpusOrder) {
  PairOrder order(50, lengths_equal_to_number(), {.page = 8, .window = 2, .seed = 1, .enabled = false});
  for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(order.at(0, i).pair, i);
}

TEST(PairOrder, CountsEosOnBothSides) {
  PairOrder order(50, lengths_equal_to_number(), {.page = 8, .window = 2, .seed = 1});
  const PairRows pair = order.lookup(30, 0);
  EXPECT_EQ(pair.pair, 30);
  EXPECT_EQ(pair.source, 31);
  EXPECT_EQ(pair.target, 2);
  const PairRows first = order.at(0, 0);
  EXPECT_EQ(first.source, first.pair + 1);
}

TEST(PairOrder, ContinuesAfterAReadThatFailed) {
  int reads_until_failure = 1000;
  PairOrder order(100,
                  [&](int64_t /*visit*/, int64_t first, int64_t count, std::vector<PairLength>& out) {
                    if (reads_until_failure-- == 0) throw std::runtime_error("unreadable");
                    lengths_equal_to_number()(0, first, count, out);
                  },
                  {.page = 10, .window = 2, .seed = 1});
  const int64_t at_30 = order.at(0, 30).pair, at_5 = order.at(0, 5).pair;
  reads_until_failure = 1;  // the window's second page
  EXPECT_THROW(order.at(0, 30), std::runtime_error);
  EXPECT_EQ(order.at(0, 5).pair, at_5);
  EXPECT_EQ(order.at(0, 30).pair, at_30);
}

}  // namespace
}  // namespace weft
