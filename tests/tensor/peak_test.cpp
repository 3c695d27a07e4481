// tests/tensor/peak_test.cpp: every matrix instruction of this processor has a rate; f32 is first and always
// present.
#include "tensor/cpu/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

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

bool processor_has_bf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

TEST(Peak, HasBf16WhereTheProcessorDoes) {
  const std::vector<PeakRate> peaks = measure_peaks(0);
  EXPECT_EQ(std::any_of(peaks.begin(), peaks.end(), [](const PeakRate& p) { return p.dtype == DType::bf16; }),
            processor_has_bf16());
}

TEST(Bf16Instructions, AreNotThoseFromWhichOneDnnIsKept) {
  const bool is_held_back = std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr;  // to AVX2 or less, in fallback_isas
  EXPECT_EQ(has_bf16_instructions(), processor_has_bf16() && !is_held_back);
}

}  // namespace
}  // namespace weft::testing
