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

Shard whole(int64_t numel, int64_t bucket) { return Shard(numel, 0, 1, bucket); }

class GradSyncBuckets : public ::testing::TestWithParam<int64_t> {};

// The backward pass completes gradients from the last matrix to the first; vectors, behind them, with wait().
void complete_in_backward_order(GradSync& sync, std::vector<float>& grads, const std::vector<float>& complete,
                                int64_t num_matrices) {
  std::copy(complete.begin() + num_matrices, complete.end(), grads.begin() + num_matrices);
  int64_t last = num_matrices;
  for (const int64_t first : {950, 500, 496, 0}) {
    std::copy(complete.begin() + first, complete.begin() + last, grads.begin() + first);
    sync.ready(first);
    last = first;
  }
  sync.wait();
}

TEST_P(GradSyncBuckets, EqualThePlainSumInEveryStep) {
  for (const int64_t num_matrices : {kNumel, kNumel - 3})
    run_thread_ranks(3, [&](Communicator& dp) {
      Context ctx(Device::cpu);
      std::vector<float> grads(kNumel);
      GradSync sync(ctx, dp, view(grads), whole(num_matrices, GetParam()));
      for (int step = 0; step < 2; ++step) {
        sync.begin();
        std::fill(grads.begin(), grads.end(), -1.0f);
        complete_in_backward_order(sync, grads, inputs<float>(dp.rank(), kNumel, step), num_matrices);
        testing::expect_bits(grads, rank_order_sum<float>(dp.size(), kNumel, step), "gradients");
      }
    });
}

TEST_P(GradSyncBuckets, ScatterTheSumsOfTheMatricesToTheirOwners) {
  constexpr int64_t kMatrices = 960, kRanks = 3;
  run_thread_ranks(kRanks, [](Communicator& dp) {
    Context ctx(Device::cpu);
    std::vector<float> grads(kNumel);
    const std::vector<float> sum = rank_order_sum<float>(kRanks, kNumel);
    const Shard shard(kMatrices, dp.rank(), kRanks, GetParam());
    GradSync sync(ctx, dp, view(grads), shard);
    sync.begin();
    complete_in_backward_order(sync, grads, inputs<float>(dp.rank(), kNumel), kMatrices);
    const auto expect_sums = [&](const Chunk& c) {
      testing::expect_bits(std::vector<float>(&grads[c.begin], &grads[c.begin] + c.count),
                           std::vector<float>(&sum[c.begin], &sum[c.begin] + c.count), "gradients");
    };
    for (const Chunk& bucket : shard.buckets()) expect_sums(shard.own(bucket));
    expect_sums({kMatrices, kNumel - kMatrices});
  });
}

// The expected sum adds the parts of each host in f32, rounds the hosts' sums to bf16, and adds them in f32.
void expect_rounded_sums(int ranks, int ranks_per_host, int ranks_that_add, int64_t bucket) {
  constexpr int64_t kMatrices = 960;
  run_thread_ranks(ranks, [=](Communicator& dp) {
    Context ctx(Device::cpu);
    std::vector<float> grads(kNumel), sum(kMatrices);
    for (size_t i = 0; i < kMatrices; ++i)
      for (int first = 0; first < ranks; first += ranks_that_add) {
        float of_host = 0;
        for (int rank = first; rank < first + ranks_that_add; ++rank)
          of_host += testing::input<float>(rank, static_cast<int64_t>(i));
        sum[i] += to_float(from_float<BFloat16>(of_host));
      }
    const Shard shard(kMatrices, dp.rank(), ranks, bucket);
    GradSync sync(ctx, dp, view(grads), shard, DType::bf16, ranks_per_host);
    for (int step = 0; step < 2; ++step) {
      sync.begin();
      complete_in_backward_order(sync, grads, inputs<float>(dp.rank(), kNumel), kMatrices);
      for (const Chunk& bucket : shard.buckets()) {
        const Chunk own = shard.own(bucket);
        testing::expect_bits(std::vector<float>(&grads[own.begin], &grads[own.begin] + own.count),
                             std::vector<float>(&sum[own.begin], &sum[own.begin] + own.count), "gradients");
      }
    }
  });
}

TEST_P(GradSyncBuckets, AddRoundedGradientsInF32) {
  expect_rounded_sums(/*ranks=*/3, /*ranks_per_host=*/0, /*ranks_that_add=*/1, GetParam());
  expect_rounded_sums(/*ranks=*/4, /*ranks_per_host=*/4, /*ranks_that_add=*/1, GetParam());
}

TEST_P(GradSyncBuckets, AddInF32WithinHostsAndRoundBetweenThem) {
  expect_rounded_sums(/*ranks=*/4, /*ranks_per_host=*/2, /*ranks_that_add=*/2, GetParam());
  expect_rounded_sums(/*ranks=*/6, /*ranks_per_host=*/2, /*ranks_that_add=*/2, GetParam());
  expect_rounded_sums(/*ranks=*/6, /*ranks_per_host=*/3, /*ranks_that_add=*/3, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sizes, GradSyncBuckets, ::testing::Values(1, 7, 100, 1002, 1003, 4096));

TEST(GradSync, WaitSendsWhatWasNeverReported) {
  run_thread_ranks(2, [](Communicator& dp) {
    Context ctx(Device::cpu);
    std::vector<float> grads = inputs<float>(dp.rank(), kNumel);
    GradSync sync(ctx, dp, view(grads), whole(kNumel, 64));
    sync.begin();
    sync.ready(900);
    sync.wait();
    testing::expect_bits(grads, rank_order_sum<float>(2, kNumel), "gradients");
  });
}

TEST(GradSync, AGroupOfOneKeepsItsGradients) {
  const auto dp = make_single_communicator();
  Context ctx(Device::cpu);
  std::vector<float> grads = inputs<float>(0, kNumel);
  GradSync sync(ctx, *dp, view(grads), whole(kNumel, 64));
  sync.begin();
  sync.ready(0);
  sync.wait();
  testing::expect_bits(grads, inputs<float>(0, kNumel), "gradients");
}

}  // namespace
}  // namespace weft
