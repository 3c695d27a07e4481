// tests/tensor/device_sums_test.cpp: sums that are accumulated on the device, cleared and read together.
#include "tensor/device_sums.h"

#include <gtest/gtest.h>

#include "tests/support/device.h"

namespace weft::testing {
namespace {

TEST(DeviceSums, AddUpUntilTheyAreCleared) {
  Context ctx(test_device());
  const DeviceSums sums(2, ctx.device());
  const Buffer buffer(3 * sizeof(float), ctx.device());
  const Tensor x = buffer.tensor({3});
  const float values[] = {1, -2, 4};
  upload(ctx, values, x);
  EXPECT_EQ(sums.read(ctx), (std::vector<double>{0, 0}));
  for (int repetition = 0; repetition < 2; ++repetition) {
    sums.clear(ctx);
    weft::ops::sum(ctx, {.x = x, .y = sums[0]});
    weft::ops::sum(ctx, {.x = x, .y = sums[0]});
    weft::ops::sum_squares(ctx, {.x = x, .y = sums[1]});
    EXPECT_EQ(sums.read(ctx), (std::vector<double>{6, 21}));
  }
}

}  // namespace
}  // namespace weft::testing
