// tests/prediction/gemm_time_test.cpp: the predicted time of matrix products, counted by hand on a simple GPU.
#include "tests/prediction/gemm_time.h"

#include <gtest/gtest.h>

#include "tests/prediction/kernel_costs.h"

namespace weft::testing {
namespace {

constexpr double kGap = 1e-6, kStartAndEnd = 2.0e-6;

GpuModel simple_gpu() {
  GpuModel gpu = gpu_model(GpuKind::h100);
  gpu.sms = 4;
  gpu.bandwidth = 1e15;
  gpu.matmul_flops_per_sm = 1e12;
  gpu.gap_graph = kGap, gpu.gap_stream = 2 * kGap;
  return gpu;
}

double main_loop(double m, double n, double k) { return 2 * m * n * k / 1e12; }

TEST(GemmTime, IsThatOfWavesOfTheBestTile) {
  const double one = main_loop(128, 256, 64) + kStartAndEnd;
  EXPECT_NEAR(gemm_seconds(simple_gpu(), {.m = 512, .n = 256, .k = 64}, true), kGap + one, 1e-12);
  EXPECT_NEAR(gemm_seconds(simple_gpu(), {.m = 1024, .n = 256, .k = 64}, true), kGap + 2 * one, 1e-12);
  EXPECT_NEAR(gemm_seconds(simple_gpu(), {.m = 1024, .n = 256, .k = 64}, false), 2 * kGap + 2 * one, 1e-12);
}

TEST(GemmTime, RoundsSumsUpToWholeSteps) {
  EXPECT_EQ(gemm_seconds(simple_gpu(), {.m = 512, .n = 256, .k = 65}, true),
            gemm_seconds(simple_gpu(), {.m = 512, .n = 256, .k = 128}, true));
}

// 128 x 256 results are one tile, so three SMs would idle. Four parts and the kernel that adds them are faster.
TEST(GemmTime, SplitsLongSumsOfFewResults) {
  const double parts = main_loop(128, 256, 1 << 18) + kStartAndEnd;
  const double added = 4.0 * 128 * 256 * 4 + 128 * 256 * 4 * 2;
  EXPECT_NEAR(gemm_seconds(simple_gpu(), {.m = 128, .n = 256, .k = 1 << 20, .c_bytes = 4, .adds_to_c = true}, true),
              2 * kGap + parts + kKernelRamp + added / 1e15, 1e-9);
}

TEST(GemmTime, IsAtLeastThatOfItsBytes) {
  GpuModel gpu = simple_gpu();
  gpu.bandwidth = 1e9;
  EXPECT_NEAR(gemm_seconds(gpu, {.m = 512, .n = 256, .k = 64, .bytes = 1e6}, true), kGap + 1e-3, 1e-12);
}

}  // namespace
}  // namespace weft::testing
