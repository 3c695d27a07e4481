// tests/trainer/prediction/attention_time_test.cpp: the predicted time of attention depends on sentences as the kernels
// do.
#include "trainer/prediction/attention_time.h"

#include <gtest/gtest.h>

namespace weft::testing {
namespace {

const GpuModel& gpu() { return gpu_model(GpuKind::h100); }
const AttentionCost& forward() { return attention_costs().front(); }
const AttentionCost& of_keys() { return attention_costs().back(); }

SentenceSpans sentences(int64_t count, int32_t length) {
  SentenceSpans spans;
  for (int32_t i = 0; i < count; ++i) spans.begin.push_back(i * length), spans.end.push_back((i + 1) * length);
  return spans;
}

AttentionShape self(int64_t count, int32_t length) {
  return {.own = sentences(count, length), .other = sentences(count, length), .rows = count * length, .heads = 8};
}

TEST(AttentionTime, GrowsWithTheKeysThatATileSees) {
  const double one_chunk = attention_seconds(gpu(), forward(), self(128, 32), true);
  const double four_chunks = attention_seconds(gpu(), forward(), self(32, 128), true);
  EXPECT_GT(four_chunks, 1.5 * one_chunk);
  EXPECT_LT(four_chunks, 4 * one_chunk);  // of equal rows: loading queries and starting take as long
}

TEST(AttentionTime, IsLessWithACausalMask) {
  AttentionShape causal = self(32, 128);
  causal.causal = true;
  for (const AttentionCost* cost : {&forward(), &of_keys()})
    EXPECT_LT(attention_seconds(gpu(), *cost, causal, true), attention_seconds(gpu(), *cost, self(32, 128), true));
}

// Fixed shapes: 4096 rows, 128 sentences and 3968 empty ones.
TEST(AttentionTime, EmptySentencesCostNothing) {
  AttentionShape padded = self(128, 32);
  for (SentenceSpans* spans : {&padded.own, &padded.other})
    spans->begin.resize(4096, 4096), spans->end.resize(4096, 4096);
  EXPECT_EQ(attention_seconds(gpu(), forward(), padded, true),
            attention_seconds(gpu(), forward(), self(128, 32), true));
}

TEST(AttentionTime, IsAtLeastThatOfItsBytes) {
  AttentionShape large = self(128, 32);
  large.bytes = gpu().bandwidth;  // of a second
  EXPECT_NEAR(attention_seconds(gpu(), forward(), large, true), 1 + gpu().gap_graph + kKernelRamp, 1e-12);
}

TEST(AttentionTime, GrowsWithTheWavesOfBlocks) {
  AttentionShape wide = self(128, 32);
  wide.heads = 32;
  EXPECT_GT(attention_seconds(gpu(), forward(), wide, true),
            2 * attention_seconds(gpu(), forward(), self(128, 32), true));
}

}  // namespace
}  // namespace weft::testing
