// tests/data/order/permutation_test.cpp: the keyed permutation is a bijection, has an inverse and looks random.
#include "data/order/permutation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace weft {
namespace {

TEST(Permutation, VisitsEveryPointOnce) {
  for (int64_t size = 1; size <= 300; ++size) {
    const Permutation permutation(size, 17);
    std::vector<int> visits(static_cast<size_t>(size), 0);
    for (int64_t i = 0; i < size; ++i) ++visits.at(static_cast<size_t>(permutation(i)));
    EXPECT_EQ(visits, std::vector<int>(static_cast<size_t>(size), 1)) << size << " points";
  }
}

TEST(Permutation, InverseUndoesIt) {
  for (const int64_t size : {1L, 2L, 3L, 97L, 1000L, 65537L, (1L << 40) + 7}) {
    const Permutation permutation(size, 5);
    for (int64_t i = 0; i < size; i += 1 + size / 50) EXPECT_EQ(permutation.inverse(permutation(i)), i) << size;
  }
}

TEST(Permutation, IdentityLeavesPointsInPlace) {
  const Permutation identity = Permutation::identity(11);
  for (int64_t i = 0; i < 11; ++i) {
    EXPECT_EQ(identity(i), i);
    EXPECT_EQ(identity.inverse(i), i);
  }
}

// 24 orders of 4 points over 24,000 keys: each is expected 1000 times, with a standard deviation of 31.
TEST(Permutation, EveryOrderOfFourIsEquallyLikely) {
  std::vector<int> count(256, 0);
  for (uint64_t key = 0; key < 24000; ++key) {
    const Permutation p(4, key);
    ++count[static_cast<size_t>(p(0) + 4 * p(1) + 16 * p(2) + 64 * p(3))];
  }
  int num_orders = 0;
  for (const int c : count) {
    if (c == 0) continue;
    ++num_orders;
    EXPECT_NEAR(c, 1000, 5 * 31);
  }
  EXPECT_EQ(num_orders, 24);
}

// In a random order about one pair of neighbours in `size / 2` stays adjacent: 2 are expected.
TEST(Permutation, SeparatesNeighbours) {
  const int64_t size = 10000;
  const Permutation permutation(size, 3);
  int num_neighbours = 0;
  for (int64_t i = 0; i + 1 < size; ++i) num_neighbours += std::abs(permutation(i + 1) - permutation(i)) == 1;
  EXPECT_LE(num_neighbours, 12);
}

// A run that a later version resumes must keep its order.
TEST(Permutation, KeepsItsOrderForEver) {
  const Permutation permutation(1000, 42);
  std::vector<int64_t> first;
  for (int64_t i = 0; i < 6; ++i) first.push_back(permutation(i));
  EXPECT_EQ(first, (std::vector<int64_t>{430, 58, 546, 798, 84, 938}));
}

}  // namespace
}  // namespace weft
