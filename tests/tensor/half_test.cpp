// tests/tensor/half_test.cpp: conversions of bf16 and f16, compared with the definition of the formats.
#include "tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A number of `fraction` bits after the leading one, exponents from `lowest` (subnormal below) to `highest`.
struct Format {
  int fraction, lowest, highest;
};
constexpr Format kBFloat16{7, -126, 127}, kFloat16{10, -14, 15};

// The nearest number of the format, ties to even, by scaling to integers in double.
float rounded(float x, const Format& f) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), f.lowest);
  const double unit = std::ldexp(1.0, exponent - f.fraction);
  const double nearest = std::nearbyint(static_cast<double>(x) / unit) * unit;
  const double largest = std::ldexp(2.0 - std::ldexp(1.0, -f.fraction), f.highest);
  return std::abs(nearest) > largest ? std::copysign(kInfinity, x) : static_cast<float>(nearest);
}

template <typename T>
void expect_rounding(const Format& format) {
  int count = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 12289) {  // odd: every pattern of low bits occurs
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const float got = to_float(from_float<T>(x)), want = rounded(x, format);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(got));
    } else {
      ASSERT_EQ(got, want) << std::hexfloat << x;
      ASSERT_EQ(std::signbit(got), std::signbit(want)) << std::hexfloat << x;
    }
    ++count;
  }
  EXPECT_GT(count, 300000);
}

template <typename T>
void expect_every_pattern_comes_back() {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const T x{static_cast<uint16_t>(bits)};
    if (std::isnan(to_float(x))) {
      ASSERT_TRUE(std::isnan(to_float(from_float<T>(to_float(x)))));
    } else {
      ASSERT_EQ(from_float<T>(to_float(x)).bits, x.bits);
    }
  }
}

TEST(BFloat16, RoundsToNearestTiesToEven) { expect_rounding<BFloat16>(kBFloat16); }
TEST(Float16, RoundsToNearestTiesToEven) { expect_rounding<Float16>(kFloat16); }
TEST(BFloat16, EveryPatternComesBack) { expect_every_pattern_comes_back<BFloat16>(); }
TEST(Float16, EveryPatternComesBack) { expect_every_pattern_comes_back<Float16>(); }

TEST(Float16, OverflowsToInfinityWhereTheFormatSays) {
  EXPECT_EQ(to_float(from_float<Float16>(65504)), 65504);
  EXPECT_EQ(to_float(from_float<Float16>(65519)), 65504);
  EXPECT_EQ(to_float(from_float<Float16>(65520)), kInfinity);
  EXPECT_EQ(to_float(from_float<Float16>(0x1p-24f)), 0x1p-24f);  // the smallest
  EXPECT_EQ(to_float(from_float<Float16>(0x1p-25f)), 0);         // a tie, to even
}

}  // namespace
}  // namespace weft
