// tests/data/packing/disk_shuffle_test.cpp: pairs are sorted by key, for any number of files.
#include "data/packing/disk_shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/data/pack_fixture.h"

namespace weft {
namespace {

PairIds numbered(int64_t number) {  // a pair that contains its number, with sides of different lengths
  return {std::vector<int32_t>(static_cast<size_t>(1 + number % 4), 7), {static_cast<int32_t>(number), 65535}};
}

std::vector<int64_t> shuffled(int64_t count, int64_t bucket_pairs, int id_bytes, uint64_t seed = 1) {
  const testing::TemporaryFolder folder;
  DiskShuffle shuffle(folder.path(), seed, count, bucket_pairs, {.id_bytes = id_bytes});
  for (int64_t i = 0; i < count; ++i) shuffle.add(i, numbered(i));
  std::vector<int64_t> order;
  shuffle.drain([&](const PairIds& pair) {
    order.push_back(pair.target.at(0));
    EXPECT_EQ(pair.source, numbered(order.back()).source);
    EXPECT_EQ(pair.target, numbered(order.back()).target);
  });
  EXPECT_TRUE(testing::names_in(folder.path()).empty());
  return order;
}

TEST(DiskShuffle, PutsPairsInTheOrderOfTheirKeys) {
  std::vector<int64_t> expected(5000);
  std::iota(expected.begin(), expected.end(), 0);
  std::sort(expected.begin(), expected.end(),
            [](int64_t a, int64_t b) { return DiskShuffle::key(1, a) < DiskShuffle::key(1, b); });
  EXPECT_EQ(shuffled(5000, 5000, 4), expected);
  EXPECT_EQ(shuffled(5000, 70, 2), expected);
}

TEST(DiskShuffle, ScattersABucketThatIsTooLargeAgain) {  // needs 5,000 buckets, but only 512 files may be open
  EXPECT_EQ(shuffled(5000, 1, 2), shuffled(5000, 5000, 2));
}

TEST(DiskShuffle, KeepsWeightsAndScores) {
  for (const int64_t bucket_pairs : {5000, 1}) {
    const testing::TemporaryFolder folder;
    DiskShuffle shuffle(folder.path(), 1, 1000, bucket_pairs, {.id_bytes = 2, .with_numbers = true}, /*max_buckets=*/8);
    for (int64_t i = 0; i < 1000; ++i) {
      PairIds pair = numbered(i);
      pair.weight = static_cast<float>(i) / 4;
      pair.score = -static_cast<float>(i);
      shuffle.add(i, pair);
    }
    int64_t count = 0;
    shuffle.drain([&](const PairIds& pair) {
      const auto number = static_cast<float>(pair.target.at(0));
      EXPECT_EQ(pair.weight, number / 4);
      EXPECT_EQ(pair.score, -number);
      EXPECT_EQ(pair.source, numbered(pair.target.at(0)).source);
      ++count;
    });
    EXPECT_EQ(count, 1000);
  }
}

TEST(DiskShuffle, DependsOnTheSeed) { EXPECT_NE(shuffled(100, 10, 2, 1), shuffled(100, 10, 2, 2)); }

TEST(DiskShuffle, MovesPairsFarFromWhereTheyWere) {
  const std::vector<int64_t> order = shuffled(5000, 500, 2);
  double distance = 0;
  for (size_t i = 0; i < order.size(); ++i)
    distance += std::abs(static_cast<double>(order[i]) - static_cast<double>(i));
  EXPECT_NEAR(distance / 5000, 5000.0 / 3, 100);  // a uniform permutation has a third; standard deviation about 17
}

}  // namespace
}  // namespace weft
