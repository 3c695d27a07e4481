// tests/parallel/shard_test.cpp: shards cover the buffer once, and the whole comes back from them.
#include "parallel/shard.h"

#include <gtest/gtest.h>

#include <numeric>

#include "communicator_cases.h"

namespace weft {
namespace {

TEST(Shard, BucketsGrowWithTheRanksAndThoseOfAllReducesUpToALimit) {
  for (const bool scatters : {false, true}) {
    EXPECT_EQ(bucket_elements(2, scatters), 4 << 20);
    EXPECT_EQ(bucket_elements(64, scatters), 16 << 20);
  }
  EXPECT_EQ(bucket_elements(1024, /*scatters=*/false), 64 << 20);
  EXPECT_EQ(bucket_elements(1024, /*scatters=*/true), 256 << 20);
}

TEST(Shard, OwnPartsCoverEveryElementOnceInEqualShares) {
  constexpr int kRanks = 3;
  for (const int64_t bucket : {1, 10, 300, 5000}) {
    std::vector<int> owners(960);
    for (int rank = 0; rank < kRanks; ++rank) {
      const Shard shard(960, rank, kRanks, bucket);
      int64_t place = 0;
      for (const Chunk& b : shard.buckets()) {
        EXPECT_EQ(shard.place(b), place);
        const Chunk own = shard.own(b);
        for (int64_t i = own.begin; i < own.begin + own.count; ++i) ++owners[static_cast<size_t>(i)];
        place += own.count;
      }
      EXPECT_EQ(place, 320);
      EXPECT_EQ(shard.numel(), 320);
    }
    EXPECT_EQ(owners, std::vector<int>(960, 1)) << bucket;
  }
}

TEST(Shard, IsTakenFromTheWholeAndGatheredAgain) {
  run_thread_ranks(4, [](Communicator& dp) {
    std::vector<float> whole = testing::inputs<float>(0, 768), own(192), again(768);
    Context ctx(Device::cpu);
    const Shard shard(768, dp.rank(), 4, 100);
    shard.take(ctx, testing::view(whole), testing::view(own));
    shard.gather(dp, testing::view(own), testing::view(again));
    testing::expect_bits(again, whole, "the whole");
  });
}

}  // namespace
}  // namespace weft
