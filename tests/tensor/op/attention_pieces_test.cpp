// tests/tensor/op/attention_pieces_test.cpp: the division of attention's backward pass among thread blocks.
#include "tensor/op/attention_pieces.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tensor/random.h"

namespace weft::testing {
namespace {

using Lengths = std::vector<int32_t>;
using Values = std::vector<int32_t>;
using Pieces = ops::AttentionPieces;

TEST(AttentionPieces, ShareSentencesThatFitTogether) {
  EXPECT_EQ(
      ops::attention_pieces({16, 17, 64, 1, 5}, {1, 32, 64, 16, 40}),
      (Values{0, 3, 0, 0,                  //
              2, -1, -1, -1, 0, 1, 3, -1,  // 1 + 2 + 1 tiles of queries, in which 1 + 4 + 1 pairs with a tile of keys
              4, -1, -1, -1}));            // three tiles of keys
}

TEST(AttentionPieces, OfALongSentenceOwnItsQueriesOrItsKeys) {
  EXPECT_EQ(ops::attention_pieces({7, 3}, {65, 3}),
            (Values{4, 1, 0, 0,  //
                    0, 0, 0, 0, 0, 0, 1, 0, 0, 64, 0, 0, 0, 64, 1, 0, 1, -1, -1, -1}));
}

TEST(AttentionPieces, LeaveOutEmptySentences) {
  EXPECT_EQ(ops::attention_pieces({0, 0}, {0, 0}), (Values{0, 0, 0, 0}));
  EXPECT_EQ(ops::attention_pieces({0, 0, 4}, {0, 9, 0}), (Values{0, 1, 0, 0, 1, 2, -1, -1}));
}

// Every row of either side has one owner, no piece is overfull, and there are not more of them than promised.
TEST(AttentionPieces, OwnEachRowOnce) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    uint64_t next = 0;
    const auto below = [&](uint32_t n) { return static_cast<int32_t>(random_bits(seed, next++, 0, 0) % n); };
    const auto sentences = static_cast<size_t>(below(300));
    const auto longest = static_cast<uint32_t>(seed % 4 == 0 ? 2 : seed % 4 == 1 ? 40 : seed % 4 == 2 ? 65 : 300);
    Lengths q(sentences), k(sentences);
    for (Lengths* side : {&q, &k})
      for (int32_t& length : *side) length = below(longest);
    const Values all = ops::attention_pieces(q, k);
    int64_t rows = 0;
    for (size_t i = 0; i < sentences; ++i) rows += q[i] + k[i];
    const auto count = static_cast<int64_t>(all.size()) / Pieces::kValues - 1;
    ASSERT_EQ(all[0] + all[1], count);
    ASSERT_LE(count, Pieces::most(rows)) << seed;
    std::set<int32_t> shared;
    std::map<int32_t, std::set<std::pair<int32_t, int32_t>>> owned;  // (first row, side) of each long sentence
    for (int64_t i = 0; i < count; ++i) {
      const int32_t* const piece = all.data() + (1 + i) * Pieces::kValues;
      if (i < all[0]) {
        ASSERT_TRUE(owned[piece[0]].emplace(piece[1], piece[2]).second) << seed;
        continue;
      }
      int64_t q_tiles = 0, k_tiles = 0;
      for (int n = 0; n < Pieces::kTiles && piece[n] >= 0; ++n) {
        const auto sentence = static_cast<size_t>(piece[n]);
        ASSERT_TRUE(shared.insert(piece[n]).second) << seed;
        q_tiles += (q[sentence] + 15) / 16, k_tiles += (k[sentence] + 15) / 16;
      }
      ASSERT_LE(std::max(q_tiles, k_tiles), Pieces::kTiles) << seed;
    }
    for (size_t i = 0; i < sentences; ++i) {
      const auto sentence = static_cast<int32_t>(i);
      const int32_t most = std::max(q[i], k[i]);
      ASSERT_EQ(shared.count(sentence), most > 0 && most <= Pieces::kRows ? 1u : 0u) << seed;
      std::set<std::pair<int32_t, int32_t>> expected;
      for (int32_t row = 0; most > Pieces::kRows && row < most; row += Pieces::kRows)
        expected.insert({{row, 0}, {row, 1}});
      ASSERT_EQ(owned[sentence], expected) << seed;
    }
  }
}

}  // namespace
}  // namespace weft::testing
