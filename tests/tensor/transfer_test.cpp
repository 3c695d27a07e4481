// tests/tensor/transfer_test.cpp: copies within a device's memory.
#include "tensor/transfer.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tensor/memory.h"
#include "tests/support/device.h"

namespace weft::testing {
namespace {

// Odd sizes: small ones for a single thread, large ones for several.
TEST(Transfer, CopiesWithinTheDevice) {
  Context ctx(test_device());
  for (const int64_t numel : {1, 1000, 1'000'003}) {
    std::vector<int32_t> numbers(static_cast<size_t>(numel));
    std::iota(numbers.begin(), numbers.end(), 1);
    const size_t bytes = numbers.size() * sizeof(int32_t);
    const Buffer from(bytes, ctx.device()), to(bytes, ctx.device());
    upload(ctx, numbers.data(), from.tensor({numel}, DType::i32));
    copy(ctx, from.tensor({numel}, DType::i32), to.tensor({numel}, DType::i32));
    EXPECT_EQ(to_host<int32_t>(ctx, to.tensor({numel}, DType::i32)), numbers);
  }
}

TEST(Transfer, RefusesACopyOfAnotherSize) {
  Context ctx(test_device());
  const Buffer memory(100, ctx.device());
  EXPECT_THROW(copy(ctx, memory.tensor({4}), memory.tensor({5}, DType::f32, 40)), Error);
}

}  // namespace
}  // namespace weft::testing
