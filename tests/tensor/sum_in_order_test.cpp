// tests/tensor/sum_in_order_test.cpp: sums and maxima of the ranks' parts, bit for bit in their order.
#include "tensor/cpu/sum_in_order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/half.h"
#include "tensor/random.h"

namespace weft::testing {
namespace {

constexpr int kParts = 3;
constexpr int64_t kCounts[] = {0, 1, 7, 2048, 4099};  // also beyond a block

template <typename T>
T value(int part, int64_t i) {  // of both signs and several magnitudes
  const uint32_t bits = random_bits(/*seed=*/9, static_cast<uint64_t>(i), /*step=*/0, static_cast<uint32_t>(part));
  const float x = std::ldexp(uniform_from_bits(bits) - 0.5f, static_cast<int>(bits % 8));
  if constexpr (sizeof(T) == sizeof(uint16_t))
    return from_float<T>(x);
  else
    return static_cast<T>(std::is_integral_v<T> ? 1000 * x : x);
}

template <typename T>
std::vector<std::vector<T>> parts_of(int64_t count) {
  std::vector<std::vector<T>> parts(kParts);
  for (int part = 0; part < kParts; ++part)
    for (int64_t i = 0; i < count; ++i) parts[static_cast<size_t>(part)].push_back(value<T>(part, i));
  return parts;
}

template <typename T>
std::vector<const void*> pointers(const std::vector<std::vector<T>>& parts) {
  std::vector<const void*> all;
  for (const auto& part : parts) all.push_back(part.data());
  return all;
}

template <typename T>
class SumInOrder : public ::testing::Test {};
using Types = ::testing::Types<float, double, int32_t, BFloat16, Float16>;
TYPED_TEST_SUITE(SumInOrder, Types);

TYPED_TEST(SumInOrder, GivesTheBitsOfAddingOnePartAfterTheOther) {
  using T = TypeParam;
  for (const int64_t count : kCounts) {
    std::vector<std::vector<T>> parts = parts_of<T>(count);
    std::vector<T> wanted(static_cast<size_t>(count));
    for (size_t i = 0; i < wanted.size(); ++i) {
      if constexpr (sizeof(T) == sizeof(uint16_t))
        wanted[i] = from_float<T>(to_float(parts[0][i]) + to_float(parts[1][i]) + to_float(parts[2][i]));
      else
        wanted[i] = parts[0][i] + parts[1][i] + parts[2][i];
    }
    std::vector<T>& out = parts[1];  // one of the parts
    sum_in_order(DTypeOf<T>::value, pointers(parts), count, out.data());
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_EQ(std::memcmp(&out[i], &wanted[i], sizeof(T)), 0) << "element " << i << " of " << count;
  }
}

TEST(MaxInOrder, TakesTheGreatestAndKeepsANaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> parts{{1, nan, -2, 5}, {3, 4, -1, nan}};
  std::vector<float> out(4);
  max_in_order(DType::f32, pointers(parts), 4, out.data());
  EXPECT_EQ(out[0], 3);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_EQ(out[2], -1);
  EXPECT_TRUE(std::isnan(out[3]));
}

}  // namespace
}  // namespace weft::testing
