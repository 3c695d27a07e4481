// tests/emulation/runtime_tests/traffic_test.cpp: what an access of a warp moves.
#include <gtest/gtest.h>

#include "tests/emulation/machine/block_traffic.h"

namespace weft::emulation {
namespace {

using Accesses = std::vector<BlockTraffic::Access>;

Accesses strided(uintptr_t first, uintptr_t stride, size_t bytes, int lanes = 32) {
  Accesses all;
  for (int lane = 0; lane < lanes; ++lane) all.push_back({lane, first + static_cast<uintptr_t>(lane) * stride, bytes});
  return all;
}
using Moved = std::pair<int64_t, int64_t>;  // and needed
Moved moved(const Traffic::Share& share) { return {share.moved, share.needed}; }
Moved sectors(const Accesses& lanes) { return moved(BlockTraffic::sectors(lanes)); }
Moved bank_cycles(const Accesses& lanes) { return moved(BlockTraffic::bank_cycles(lanes)); }

TEST(Traffic, OfNeighboursIsTheirBytes) {
  EXPECT_EQ(sectors(strided(0, 4, 4)), Moved(4, 4));
  EXPECT_EQ(sectors(strided(64, 16, 16)), Moved(16, 16));
  EXPECT_EQ(sectors(strided(0, 0, 4)), Moved(1, 1));  // all lanes the same word
}

TEST(Traffic, OfStridesIsWholeSectors) {
  EXPECT_EQ(sectors(strided(0, 32, 16)), Moved(32, 16));
  EXPECT_EQ(sectors(strided(0, 128, 4)), Moved(32, 4));
}

TEST(Traffic, OfAnOffsetIsASectorMore) { EXPECT_EQ(sectors(strided(4, 4, 4)), Moved(5, 4)); }

TEST(Traffic, BanksServeADistinctWordEachCycle) {
  EXPECT_EQ(bank_cycles(strided(0, 4, 4)), Moved(1, 1));
  EXPECT_EQ(bank_cycles(strided(0, 8, 4)), Moved(2, 1));
  EXPECT_EQ(bank_cycles(strided(0, 128, 4)), Moved(32, 1));
  EXPECT_EQ(bank_cycles(strided(0, 0, 4)), Moved(1, 1));
  EXPECT_EQ(bank_cycles(strided(0, 132, 4)), Moved(1, 1));  // a row of 33 words: the usual padding
}

TEST(Traffic, WideAccessesTakeACycleForEightLanes) {
  EXPECT_EQ(bank_cycles(strided(0, 16, 16)), Moved(4, 4));
  EXPECT_EQ(bank_cycles(strided(0, 32, 16)), Moved(8, 4));
  EXPECT_EQ(bank_cycles(strided(0, 144, 16)), Moved(4, 4));  // rows of a tile with 16 bytes of padding
  EXPECT_EQ(bank_cycles(strided(0, 16, 16, /*lanes=*/3)), Moved(1, 1));
}

}  // namespace
}  // namespace weft::emulation
