// tests/tensor/dropout_test.cpp: Philox compared with published vectors; every op's mask equals random.h bit
// by bit.
#include <numeric>
#include <tuple>

#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

TEST(Philox, MatchesThePublishedVectors) {  // Random123's known answers for philox4x32-10
  const auto expect = [](const PhiloxBits& bits, std::vector<uint32_t> want) {
    EXPECT_EQ(std::vector<uint32_t>(bits.v, bits.v + 4), want);
  };
  expect(philox(0, 0, 0, 0), {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
  expect(philox(~0ull, ~0ull, ~0u, ~0u), {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
  expect(philox(0x299f31d0a4093822ull, 0x85a308d3243f6a88ull, 0x13198a2eu, 0x03707344u),
         {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
}

TEST(Dropout, TakesTheHalvesOfAGroupsWordsLowFirst) {  // of the first vector above: e8d5 6627 c58d e169 ac4c ...
  std::vector<bool> kept;
  for (uint64_t i = 0; i < 8; ++i) kept.push_back(DropoutMask{.rate = 0.75f}.keeps(i));
  EXPECT_EQ(kept, (std::vector<bool>{true, false, true, true, false, false, true, false}));
}

TEST(Dropout, RoundsItsRateToSixteenBitsAndScalesByWhatItKeeps) {
  const auto expect = [](float rate, uint32_t threshold) {
    const DropoutMask d{.rate = rate};
    EXPECT_EQ(d.threshold(), threshold) << rate;
    EXPECT_NEAR(d.keep_scale() * (65536.0 - threshold) / 65536, 1, 1e-7) << rate;
  };
  expect(0, 0);
  expect(1e-6f, 0);
  expect(0.1f, 6554);
  expect(0.5f, 32768);
  expect(std::nextafter(1.0f, 0.0f), 65535);
}

std::vector<float> masks(Workspace& w, const Dropout& d, int64_t rows, int64_t cols) {
  const Tensor ones = w.filled({rows, cols}, 1), y = w.nans({rows, cols});
  ops::dropout_backward(w.ctx, {.d_y = ones, .d_x = y, .dropout = d});
  return values(y);
}

TEST(DropoutMask, EqualsRandomHeaderBitByBit) {
  Workspace w;
  for (int64_t cols : {1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 257, 700}) {
    for (uint64_t first : {uint64_t{0}, uint64_t{1}, uint64_t{4}, uint64_t{7}, (uint64_t{1} << 35) - 5}) {
      Dropout d = kTestDropout;
      d.first = first;
      d.row_stride = cols + 3;
      const DropoutMask mask = d.mask();
      EXPECT_EQ(mask.first, first + 2 * 1001);
      EXPECT_EQ(mask.step, 5u);
      const std::vector<float> got = masks(w, d, 5, cols);
      for (int64_t i = 0; i < 5 * cols; ++i) {
        ASSERT_EQ(got[static_cast<size_t>(i)], mask.keeps(mask.index(i / cols, i % cols)) ? mask.keep_scale() : 0.0f)
            << i << " of " << cols << " columns from " << first;
      }
    }
  }
}

// With zero queries every key has probability 1 / keys. Values that are columns of the identity show each
// factor, for as many keys at a time as heads have columns on every device.
TEST(DropoutMask, OfAttentionEqualsRandomHeaderBitByBit) {
  Workspace w;
  for (const auto& [queries, keys, stride] :
       {std::tuple<int32_t, int32_t, int64_t>{40, 5, 64}, {33, 77, 83}, {3, 530, 600}}) {
    Dropout d = kTestDropout;
    d.row_stride = stride;
    for (int32_t first = 0; first < keys; first += 128) {
      const int32_t seen = std::min(keys - first, 128);
      const Tensor q = w.zeros({queries, seen}), k = w.zeros({keys, seen}), v = w.zeros({keys, seen});
      for (int32_t i = 0; i < seen; ++i) v.ptr<float>()[(first + i) * seen + i] = static_cast<float>(keys);
      const Tensor y = w.nans({queries, seen});
      ops::attention_forward(w.ctx, {.q = q,
                                     .k = k,
                                     .v = v,
                                     .q_rows = {w.ints({0}), w.ints({queries})},
                                     .k_rows = {w.ints({0}), w.ints({keys})},
                                     .y = y,
                                     .dropout = d});
      const std::vector<float> got = values(y);
      for (int64_t i = 0; i < queries * seen; ++i)
        ASSERT_NEAR(got[static_cast<size_t>(i)], dropout_factor(d, i / seen, first + i % seen), 1e-5)
            << "query " << i / seen << ", key " << first + i % seen << " of " << keys;
    }
  }
}

TEST(DropoutMask, OfShardsAssemblesToTheWhole) {
  Workspace w;
  Dropout whole = kTestDropout, right = kTestDropout;
  whole.row_stride = right.row_stride = 30;
  right.first = whole.first + 17;
  const std::vector<float> all = masks(w, whole, 6, 30), a = masks(w, whole, 6, 17), b = masks(w, right, 6, 13);
  for (size_t r = 0; r < 6; ++r) {
    for (size_t c = 0; c < 30; ++c) EXPECT_EQ(all[r * 30 + c], c < 17 ? a[r * 17 + c] : b[r * 13 + c - 17]);
  }
}

TEST(DropoutMask, DropsTheShareItIsAskedForAndKeepsTheMean) {
  Workspace w;
  Dropout d = kTestDropout;
  d.row_stride = 1000;
  const std::vector<float> mask = masks(w, d, 100, 1000);
  const auto dropped = std::count(mask.begin(), mask.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / 100000, 0.3, 0.01);
  EXPECT_NEAR(std::accumulate(mask.begin(), mask.end(), 0.0) / 100000, 1, 0.01) << "expectation";
}

TEST(DropoutMask, IsOffAtRateZero) {
  Workspace w;
  for (float m : masks(w, Dropout{}, 3, 7)) EXPECT_EQ(m, 1.0f);
}

}  // namespace
}  // namespace weft::testing
