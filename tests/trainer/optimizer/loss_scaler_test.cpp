// tests/trainer/optimizer/loss_scaler_test.cpp: when the loss scale grows, backs off and stays.
#include "trainer/optimizer/loss_scaler.h"

#include <gtest/gtest.h>

namespace weft::testing {
namespace {

void take_good_steps(LossScaler& scaler, int64_t count) {
  for (int64_t i = 0; i < count; ++i) scaler.update(/*finite=*/true);
}

TEST(LossScaler, DoublesAfterTwoThousandGoodStepsInARow) {
  LossScaler scaler(DType::f16);
  take_good_steps(scaler, 1999);
  EXPECT_EQ(scaler.scale(), 65536);
  take_good_steps(scaler, 1);
  EXPECT_EQ(scaler.scale(), 2 * 65536);
  take_good_steps(scaler, 1999);
  EXPECT_EQ(scaler.scale(), 2 * 65536);
}

TEST(LossScaler, HalvesAtOnceAndCountsAnew) {
  LossScaler scaler(DType::f16);
  take_good_steps(scaler, 1999);
  scaler.update(/*finite=*/false);
  EXPECT_EQ(scaler.scale(), 32768);
  take_good_steps(scaler, 1999);
  EXPECT_EQ(scaler.scale(), 32768);
  take_good_steps(scaler, 1);
  EXPECT_EQ(scaler.scale(), 65536);
}

TEST(LossScaler, NeverGoesBelowOne) {
  LossScaler scaler(DType::f16);
  for (int i = 0; i < 16; ++i) scaler.update(/*finite=*/false);
  EXPECT_EQ(scaler.scale(), 1);
  scaler.update(/*finite=*/false);
  EXPECT_EQ(scaler.scale(), 1);
}

TEST(LossScaler, ResumesWhereItWas) {
  LossScaler whole(DType::f16), first(DType::f16), second(DType::f16);
  take_good_steps(first, 1500);
  second.restore(first.state());
  take_good_steps(second, 600);
  take_good_steps(whole, 2100);
  EXPECT_EQ(second.state(), whole.state());
}

TEST(LossScaler, IsOneForEverWhereNothingUnderflows) {
  for (const DType storage : {DType::bf16, DType::f32}) {
    LossScaler scaler(storage);
    take_good_steps(scaler, 5000);
    scaler.update(/*finite=*/false);
    EXPECT_EQ(scaler.state(), LossScale{});
  }
}

}  // namespace
}  // namespace weft::testing
