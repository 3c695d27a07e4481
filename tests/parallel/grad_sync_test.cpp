// tests/parallel/grad_sync_test.cpp: bucketed all-reduces equal a plain one; each gradient is reduced once,
// when ready.
#include "parallel/grad_sync.h"

#include <gtest/gtest.h>

#include "communicator_cases.h"

namespace weft {
namespace {

using testing::inputs;
using testing::rank_order_sum;
using testing::view;

constexpr int64_t kNumel = 1003;

class GradSyncBuckets : public ::testing::TestWithParam<int64_t> {};

TEST_P(GradSyncBuckets, EqualThePlainSumInEveryStep) {
  run_thread_ranks(3, [](Communicator& dp) {
    std::vector<float> grads(kNumel);
    GradSync sync(dp, view(grads), GetParam());
    for (int step = 0; step < 2; ++step) {
      sync.begin();
      std::fill(grads.begin(), grads.end(), -1.0f);
      const std::vector<float> complete = inputs<float>(dp.rank(), kNumel, step);
      for (const int64_t first : {1000, 990, 500, 496, 0}) {  // the backward pass, from the last parameter to the first
        const int64_t last = first == 1000  ? kNumel
                             : first == 990 ? 1000
                             : first == 500 ? 990
                             : first == 496 ? 500
                                            : 496;
        std::copy(complete.begin() + first, complete.begin() + last, grads.begin() + first);
        sync.ready(first);
      }
      sync.wait();
      testing::expect_bits(grads, rank_order_sum<float>(dp.size(), kNumel, step), "gradients");
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, GradSyncBuckets, ::testing::Values(1, 7, 100, 1002, 1003, 4096));

TEST(GradSync, BucketsKeepEachRanksPartFromShrinking) {
  EXPECT_EQ(bucket_elements(2), 4 << 20);
  EXPECT_EQ(bucket_elements(64), 4 << 20);
  EXPECT_EQ(bucket_elements(1024), 1024 * (256 << 10) / 4);
}

TEST(GradSync, WaitSendsWhatWasNeverReported) {
  run_thread_ranks(2, [](Communicator& dp) {
    std::vector<float> grads = inputs<float>(dp.rank(), kNumel);
    GradSync sync(dp, view(grads), 64);
    sync.begin();
    sync.ready(900);
    sync.wait();
    testing::expect_bits(grads, rank_order_sum<float>(2, kNumel), "gradients");
  });
}

TEST(GradSync, AGroupOfOneKeepsItsGradients) {
  const auto dp = make_single_communicator();
  std::vector<float> grads = inputs<float>(0, kNumel);
  GradSync sync(*dp, view(grads), 64);
  sync.begin();
  sync.ready(0);
  sync.wait();
  testing::expect_bits(grads, inputs<float>(0, kNumel), "gradients");
}

}  // namespace
}  // namespace weft
