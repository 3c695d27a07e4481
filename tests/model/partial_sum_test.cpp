// tests/model/partial_sum_test.cpp: sums in half precision are rounded once, however many matmuls they have.
#include "model/layers/partial_sum.h"

#include <gtest/gtest.h>

#include "tests/support/small_model.h"

namespace weft::testing {
namespace {

TEST(PartialSum, OfSeveralMatmulsIsRoundedOnce) {
  const auto world = make_single_communicator();
  SmallModel m(small_config(), *world, /*seed=*/1);
  Pass p = m.pass(/*block=*/0, /*training=*/false);
  const Tensor y = p.arena.tensor({1, 1}, DType::bf16), term = p.arena.tensor({1, 1});
  PartialSum sum(p, y, /*of_several_matmuls=*/true);
  ops::fill(p.ctx, {.x = sum.part(), .value = 1});
  ops::fill(p.ctx, {.x = term, .value = 0x1p-8f});  // half of bf16's distance from 1 to its neighbour
  for (int i = 0; i < 2; ++i) ops::add(p.ctx, {.x = term, .y = sum.part()});
  sum.reduce(p);
  sum.finish(p);
  ops::cast(p.ctx, {.x = y, .y = term});
  EXPECT_EQ(to_host<float>(p.ctx, term)[0], 1 + 0x1p-7f);  // 1 if each term were rounded
}

TEST(PartialSum, OfSeveralMatmulsThatIsAddedIsRoundedOnceWithWhatWasThere) {
  const auto world = make_single_communicator();
  SmallModel m(small_config(), *world, /*seed=*/1);
  Pass p = m.pass(/*block=*/0, /*training=*/false);
  const Tensor y = p.arena.tensor({1, 1}, DType::bf16), read = p.arena.tensor({1, 1});
  ops::fill(p.ctx, {.x = y, .value = 1});
  PartialSum sum(p, InputGradient{.d = y, .add = true}, /*of_several_matmuls=*/true);
  EXPECT_FALSE(sum.accumulates());
  ops::fill(p.ctx, {.x = sum.part(), .value = 2 + 0x1p-8f});  // in bf16: 2
  sum.reduce(p);
  sum.finish(p);
  ops::cast(p.ctx, {.x = y, .y = read});
  EXPECT_EQ(to_host<float>(p.ctx, read)[0], 3);
}

TEST(PartialSum, OfOneMatmulOnOneRankIsTheResultItself) {
  const auto world = make_single_communicator();
  SmallModel m(small_config(), *world, /*seed=*/1);
  Pass p = m.pass(/*block=*/0, /*training=*/false);
  const Tensor y = p.arena.tensor({1, 1}, DType::bf16);
  EXPECT_EQ(PartialSum(p, y).part().data, y.data);
  const PartialSum added(p, InputGradient{.d = y, .add = true});
  EXPECT_EQ(added.part().data, y.data);
  EXPECT_TRUE(added.accumulates());
}

}  // namespace
}  // namespace weft::testing
