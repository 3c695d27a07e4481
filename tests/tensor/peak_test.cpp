// tests/tensor/peak_test.cpp: every matrix instruction of this processor has a rate; f32 is first and always
// present.
#include "tensor/cpu/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tensor/context.h"

namespace weft::testing {
namespace {

TEST(Peak, GivesAPositiveRateForEachInstruction) {
  const std::vector<PeakRate> peaks = measure_peaks(0);
  ASSERT_FALSE(peaks.empty());
  EXPECT_EQ(peaks.front().dtype, DType::f32);
  for (const PeakRate& p : peaks) {
    EXPECT_TRUE(std::isfinite(p.flops_per_second) && p.flops_per_second > 0) << p.instruction;
    EXPECT_STRNE(p.instruction, "");
  }
}

TEST(Peak, HasBf16WhereProductsUseIt) {
  if (!has_bf16_instructions()) return;  // the processor may have instructions that oneDNN may not use
  const std::vector<PeakRate> peaks = measure_peaks(0);
  EXPECT_TRUE(std::any_of(peaks.begin(), peaks.end(), [](const PeakRate& p) { return p.dtype == DType::bf16; }));
}

}  // namespace
}  // namespace weft::testing
