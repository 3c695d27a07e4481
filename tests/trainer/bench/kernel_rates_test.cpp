// tests/trainer/bench/kernel_rates_test.cpp: every op of a step is measured, with rates of its necessary
// bytes.
#include "trainer/bench/kernel_rates.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/run_device.h"
#include "trainer/bench/bench.h"

namespace weft::testing {
namespace {

RunConfig bench_config(Communicator& world, ParallelConfig parallel = {}) {
  RunConfig config;
  config.parallel = parallel;
  config.model.width = 16, config.model.heads = 2, config.model.feed_forward = 32;
  config.model.encoder_layers = config.model.decoder_layers = 1;
  config.model.source_vocabulary = config.model.target_vocabulary = 50;
  config.batch.rows = 64, config.train.precision = Precision::f32;
  return resolve_bench(config, world, test_rank(world));
}

TEST(KernelRates, HaveEveryOpOfAStep) {
  const auto world = make_single_communicator();
  std::set<std::string> seen;
  double attention = 0;
  for (const KernelRate& k : measure_kernels(bench_config(*world), *world, /*seconds=*/0, test_rank(*world))) {
    seen.insert(k.op);
    EXPECT_GE(k.calls, 1);
    EXPECT_GT(k.best, 0);
    EXPECT_GE(k.median, k.best);
    EXPECT_GT(k.cost.bytes, 0) << k.op;
    if (k.op == "attention_forward") attention += static_cast<double>(k.calls);
  }
  for (const char* op : {"attention_backward", "residual_norm_forward", "residual_norm_backward", "embedding_forward",
                         "embedding_backward", "add_positions", "cross_entropy", "sum_squares", "update"})
    EXPECT_TRUE(seen.contains(op)) << op;
  EXPECT_FALSE(seen.contains("gemm"));  // has its own table
  EXPECT_EQ(attention, 3);              // self, causal, cross
}

TEST(KernelRates, AreMeasuredOnEveryGrid) {
  run_thread_ranks(4, [](Communicator& world) {
    set_num_threads(1);
    const RunConfig config = bench_config(world, {.dp = 2, .tp = 2});
    EXPECT_FALSE(measure_kernels(config, world, /*seconds=*/0, test_rank(world)).empty());
  });
}

TEST(KernelRates, CopiesOfEverySizeAreMeasured) {
  Context ctx(test_device());
  const std::vector<CopyRate> copies = measure_copies(ctx, /*seconds=*/0);
  ASSERT_EQ(copies.size(), 13u);
  for (size_t i = 0; i < copies.size(); ++i) {
    EXPECT_EQ(copies[i].bytes, 65536.0 * static_cast<double>(1 << i));
    EXPECT_GT(copies[i].bytes_per_second, 0);
  }
}

TEST(KernelRates, ACopysRateIsTheBetterOfTheNearestSizes) {
  const std::vector<CopyRate> copies = {{.bytes = 100, .bytes_per_second = 5},
                                        {.bytes = 200, .bytes_per_second = 9},
                                        {.bytes = 400, .bytes_per_second = 3}};
  EXPECT_EQ(copy_rate(copies, 10), 5);
  EXPECT_EQ(copy_rate(copies, 150), 9);
  EXPECT_EQ(copy_rate(copies, 300), 9);
  EXPECT_EQ(copy_rate(copies, 1000), 3);
}

}  // namespace
}  // namespace weft::testing
