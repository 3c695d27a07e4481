// tests/prediction/attention_time_test.cpp: the predicted time of attention depends on sentences as the kernels
// do.
#include "tests/prediction/attention_time.h"

#include <gtest/gtest.h>

namespace weft::testing {
namespace {

const GpuModel& gpu() { return gpu_model(GpuKind::h100); }

class AttentionTime : public ::testing::TestWithParam<decltype(&attention_forward_seconds)> {
 protected:
  static double seconds(const AttentionShape& shape) { return GetParam()(gpu(), shape, /*graph=*/true); }
};
INSTANTIATE_TEST_SUITE_P(Passes, AttentionTime,
                         ::testing::Values(attention_forward_seconds, attention_backward_seconds),
                         [](const auto& info) { return info.index == 0 ? "forward" : "backward"; });

SentenceSpans sentences(int64_t count, int32_t length) {
  SentenceSpans spans;
  for (int32_t i = 0; i < count; ++i) spans.begin.push_back(i * length), spans.end.push_back((i + 1) * length);
  return spans;
}

AttentionShape self(int64_t count, int32_t length) {
  return {.queries = sentences(count, length),
          .keys = sentences(count, length),
          .rows = count * length,
          .heads = 8,
          .kv_heads = 8};
}

TEST_P(AttentionTime, GrowsWithTheKeysThatATileSees) {
  const double few = seconds(self(128, 32)), many = seconds(self(32, 128));  // equal rows
  EXPECT_GT(many, 1.5 * few);
  EXPECT_LT(many, 4 * few);
}

TEST_P(AttentionTime, IsLessWithACausalMask) {
  for (const int32_t length : {64, 128}) {
    AttentionShape causal = self(4096 / length, length);
    causal.causal = true;
    EXPECT_LT(seconds(causal), seconds(self(4096 / length, length))) << length;
  }
}

// Fixed shapes: 4096 rows, 128 sentences and 3968 empty ones.
TEST_P(AttentionTime, EmptySentencesCostNothing) {
  AttentionShape padded = self(128, 32);
  for (SentenceSpans* spans : {&padded.queries, &padded.keys})
    spans->begin.resize(4096, 4096), spans->end.resize(4096, 4096);
  EXPECT_EQ(seconds(padded), seconds(self(128, 32)));
}

TEST_P(AttentionTime, IsAtLeastThatOfItsBytes) {
  AttentionShape large = self(128, 32);
  large.bytes = gpu().bandwidth;  // of a second
  EXPECT_NEAR(seconds(large), 1 + gpu().gap_graph + kKernelRamp, 1e-12);
}

TEST_P(AttentionTime, GrowsWithTheWavesOfBlocks) {
  AttentionShape wide = self(128, 32);
  wide.heads = wide.kv_heads = 32;
  EXPECT_GT(seconds(wide), 2 * seconds(self(128, 32)));
}

}  // namespace
}  // namespace weft::testing
