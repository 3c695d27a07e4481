// tests/trainer/step/step_flops_test.cpp: operations of a step, and the peak they are compared with.
#include "trainer/step/step_flops.h"

#include <gtest/gtest.h>

#include "model/flops.h"
#include "parallel/communicator.h"

namespace weft {
namespace {

using Ids = std::vector<int32_t>;

TEST(StepFlops, AreThoseOfTheSentencesOwnLengths) {
  ModelConfig model;
  model.source_vocabulary = model.target_vocabulary = 1000;
  BlockBuilder builder(16, 16);
  builder.add(Ids{3, 4}, Ids{3, 4, 5});  // 3 and 4 tokens with their eos
  builder.add(Ids{3}, Ids{3});
  const TokenFlops longer = forward_flops(model, 3, 4), shorter = forward_flops(model, 2, 2);
  EXPECT_DOUBLE_EQ(training_flops(model, {builder.finish(0)}),
                   3 * (3 * longer.source + 4 * longer.target + 2 * shorter.source + 2 * shorter.target));
}

TEST(Peak, OfProductsIsInF32WhereTheDtypeHasNoInstruction) {
  const std::vector<PeakRate> rates{{"fma", DType::f32, 3e9}, {"dot", DType::bf16, 5e9}, {"tile", DType::bf16, 7e9}};
  EXPECT_EQ(product_peak(rates, DType::bf16), 7e9);
  EXPECT_EQ(product_peak(rates, DType::f16), 3e9);
  EXPECT_EQ(best_peak(rates, DType::f16), 0);
}

TEST(Peak, IsThatOfAllRanks) {
  run_thread_ranks(2, [](Communicator& world) {
    const double peak = peak_flops({.device = Device::cpu}, DType::f32, world);
    EXPECT_GT(peak, 0);
    EXPECT_EQ(peak, world.sum(peak) / 2);
  });
}

}  // namespace
}  // namespace weft
