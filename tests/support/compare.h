// tests/support/compare.h: compares numbers with a tolerance that can fail.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tensor/tensor.h"

namespace weft::testing {

// Rounding error of an f32 sum of `length` terms of size `magnitude`, with a margin.
inline double tolerance(int64_t length, double magnitude = 1.0) {
  return 8.0 * std::numeric_limits<float>::epsilon() * (2.0 + std::sqrt(static_cast<double>(length))) * magnitude;
}

template <typename T = float>
std::vector<T> values(const Tensor& t) {  // row by row, for any stride
  if (t.rank() != 2) return {t.ptr<T>(), t.ptr<T>() + t.numel()};
  std::vector<T> out;
  for (int64_t r = 0; r < t.rows(); ++r) {
    out.insert(out.end(), t.ptr<T>() + r * t.row_stride, t.ptr<T>() + r * t.row_stride + t.cols());
  }
  return out;
}

template <typename A, typename B>
int64_t first_difference(const std::vector<A>& got, const std::vector<B>& want, double tol) {  // -1 = none
  for (size_t i = 0; i < want.size(); ++i) {
    if (!(std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])) <= tol)) return static_cast<int64_t>(i);
  }
  return -1;
}

// Expects every |got - want| <= tol. Also checks that the comparison can fail: an error of ten tolerances
// anywhere would be detected, and a hundred tolerances are less than the largest expected value.
template <typename A, typename B>
void expect_close(const std::vector<A>& got, const std::vector<B>& want, double tol, const char* what = "result") {
  ASSERT_EQ(got.size(), want.size()) << what;
  const int64_t at = first_difference(got, want, tol);
  if (at >= 0) {
    ADD_FAILURE() << what << "[" << at << "] of " << want.size() << " is " << got[static_cast<size_t>(at)]
                  << ", expected " << want[static_cast<size_t>(at)] << " within " << tol;
    return;
  }
  double largest = 0;
  std::vector<double> off(got.begin(), got.end());
  for (size_t i = 0; i < off.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(want[i])));
    const double kept = off[i];
    off[i] += 10 * tol;
    EXPECT_EQ(first_difference(off, want, tol), static_cast<int64_t>(i)) << what << ": the tolerance hides errors";
    off[i] = kept;
    if (i > 16) break;  // a few elements are enough
  }
  for (const B& w : want) largest = std::max(largest, std::abs(static_cast<double>(w)));
  if (largest > 0) {
    EXPECT_LT(100 * tol, largest) << what << ": the tolerance is as large as the values";
  }
}

template <typename A, typename B>
double norm_of_difference(const std::vector<A>& got, const std::vector<B>& want) {  // NaN shows
  double sum = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - static_cast<double>(want[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

// Expects |got - want| <= relative * |want| in the Euclidean norm. A |want| below `floor` counts as `floor`,
// for values that are zero in exact arithmetic. Like expect_close it checks that ten tolerances would be
// detected.
template <typename A, typename B>
void expect_close_in_norm(const std::vector<A>& got, const std::vector<B>& want, double relative, double floor = 0,
                          const char* what = "result") {
  ASSERT_EQ(got.size(), want.size()) << what;
  const double norm = norm_of_difference(std::vector<B>(want.size()), want), tol = relative * std::max(norm, floor);
  const double off_by = norm_of_difference(got, want);
  if (!(off_by <= tol)) {
    ADD_FAILURE() << what << " [" << want.size() << "] is off by " << off_by << " in norm, " << off_by / norm
                  << " of its own " << norm << ", allowed " << tol;
    return;
  }
  EXPECT_LE(relative, 1e-2) << what << ": the tolerance is as large as the values";
  std::vector<double> off(got.begin(), got.end());
  for (size_t i = 0; i < off.size(); i += 1 + off.size() / 17) {
    const double kept = off[i];
    off[i] += tol > 0 ? 10 * tol : 1e-30;
    EXPECT_FALSE(norm_of_difference(off, want) <= tol) << what << ": the tolerance hides errors";
    off[i] = kept;
  }
}

inline void expect_close(const Tensor& got, const std::vector<double>& want, double tol, const char* what = "result") {
  expect_close(values(got), want, tol, what);
}

}  // namespace weft::testing
