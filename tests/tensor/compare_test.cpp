// tests/tensor/compare_test.cpp: the comparisons of tests/support/compare.h fail when a result is off.
#include "tests/support/compare.h"

#include <gtest/gtest-spi.h>

namespace weft::testing {
namespace {

const std::vector<double> kWant{3, -4, 0, 12};  // norm 13

std::vector<float> off_by(double difference, size_t at) {
  std::vector<float> got(kWant.begin(), kWant.end());
  got[at] += static_cast<float>(difference);
  return got;
}

TEST(ExpectClose, TakesHalfATolerance) { expect_close(off_by(0.5e-3, 2), kWant, 1e-3); }

TEST(ExpectClose, FailsTenTolerancesOffAnywhere) {
  for (size_t i = 0; i < kWant.size(); ++i) EXPECT_NONFATAL_FAILURE(expect_close(off_by(-1e-2, i), kWant, 1e-3), "is");
}

TEST(ExpectClose, FailsOnNaN) { EXPECT_NONFATAL_FAILURE(expect_close(off_by(NAN, 3), kWant, 1e-3), "nan"); }

TEST(ExpectCloseInNorm, TakesHalfATolerance) { expect_close_in_norm(off_by(0.5 * 13e-3, 2), kWant, 1e-3); }

TEST(ExpectCloseInNorm, FailsTenTolerancesOffAnywhere) {
  for (size_t i = 0; i < kWant.size(); ++i)
    EXPECT_NONFATAL_FAILURE(expect_close_in_norm(off_by(10 * 13e-3, i), kWant, 1e-3), "off by");
}

TEST(ExpectCloseInNorm, FailsOnNaN) {
  EXPECT_NONFATAL_FAILURE(expect_close_in_norm(off_by(NAN, 3), kWant, 1e-3), "off by");
}

TEST(ExpectCloseInNorm, TakesRoundingOfZeroUpToTheFloorOnly) {
  const std::vector<double> zero(2);
  expect_close_in_norm(std::vector<double>{0, 4e-6}, zero, 1e-5, /*floor=*/0.5);
  EXPECT_NONFATAL_FAILURE(expect_close_in_norm(std::vector<double>{0, 4e-6}, zero, 1e-5, /*floor=*/0.1), "off by");
}

TEST(ExpectCloseInNorm, RefusesAToleranceAsLargeAsTheValues) {
  EXPECT_NONFATAL_FAILURE(expect_close_in_norm(off_by(0, 0), kWant, 0.5), "as large as");
}

}  // namespace
}  // namespace weft::testing
