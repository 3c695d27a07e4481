// tests/data/order/variant_turns_test.cpp: each variant once in as many epochs, and another start for other seeds and
// corpora.
#include "data/order/variant_turns.h"

#include <gtest/gtest.h>

#include <set>

namespace weft {
namespace {

TEST(VariantTurns, GiveEachVariantOnceInAnyAsManyVisits) {
  for (const int64_t count : {1, 2, 3, 7})
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const VariantTurns turns(seed, 0, count);
      for (int64_t first = 0; first < 20; ++first) {
        std::set<int64_t> given;
        for (int64_t visit = first; visit < first + count; ++visit) given.insert(turns.at(visit));
        ASSERT_EQ(std::ssize(given), count);
        ASSERT_EQ(*given.begin(), 0);
        ASSERT_EQ(*given.rbegin(), count - 1);
      }
    }
}

TEST(VariantTurns, BeginWithADifferentOneForOtherSeedsAndCorpora) {
  std::set<int64_t> by_seed, by_corpus;
  for (int64_t i = 0; i < 40; ++i) {
    by_seed.insert(VariantTurns(static_cast<uint64_t>(i), 0, 4).at(0));
    by_corpus.insert(VariantTurns(1, i, 4).at(0));
  }
  EXPECT_EQ(by_seed.size(), 4u);
  EXPECT_EQ(by_corpus.size(), 4u);
}

// A run that a later version resumes must keep its texts.
TEST(VariantTurns, StayTheSameForEver) { EXPECT_EQ(VariantTurns(1, 0, 1000).at(0), 768); }

}  // namespace
}  // namespace weft
