// tests/tensor/memory_test.cpp: buffers are zeroed and aligned; an arena measures exactly what it later
// allocates.
#include "tensor/memory.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/support/errors.h"

namespace weft {
namespace {

TEST(Buffer, IsZeroAndAlignedAtAnySize) {
  for (size_t bytes : {size_t{1}, size_t{100}, size_t{5} << 20}) {
    const Buffer b(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 64, 0u);
    for (size_t i = 0; i < bytes; i += 97) ASSERT_EQ(static_cast<const char*>(b.data())[i], 0);
  }
}

TEST(Buffer, MovesItsMemory) {
  Buffer a(64);
  void* const data = a.data();
  Buffer b(std::move(a));
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(a.data(), nullptr);
  a = std::move(b);
  EXPECT_EQ(a.data(), data);
}

TEST(Buffer, RefusesATensorBeyondItsEnd) {
  const Buffer b(64);
  EXPECT_NO_THROW(b.tensor({4}, DType::f32, 48));
  EXPECT_THROW(b.tensor({5}, DType::f32, 48), Error);
}

TEST(Arena, MeasuresWhatTheRealOneUses) {
  const auto work = [](Arena& arena) {
    arena.tensor({3, 5});
    {
      ArenaScope scope(arena);
      arena.tensor({1000});
    }
    arena.tensor({7}, DType::f64);
  };
  Arena measuring;
  work(measuring);
  EXPECT_TRUE(measuring.measuring());
  EXPECT_EQ(measuring.high_water(), 64u + 4032u);
  Arena real(measuring.high_water());
  work(real);
  EXPECT_EQ(real.high_water(), measuring.high_water());
  EXPECT_EQ(real.mark(), 128u);
}

TEST(Arena, MeasuresForTheDeviceThatItIsToldOf) {
  Arena measuring(Device::cuda);
  EXPECT_EQ(measuring.tensor({3}).device, Device::cuda);
  EXPECT_TRUE(measuring.measuring());
}

TEST(Arena, HandsOutAlignedDisjointTensors) {
  Arena arena(1024);
  const Tensor a = arena.tensor({3}), b = arena.tensor({3});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data) % 64, 0u);
  EXPECT_EQ(static_cast<char*>(b.data) - static_cast<char*>(a.data), 64);
}

TEST(Arena, NamesBothNumbersWhenItIsTooSmall) {
  Arena arena(128);
  arena.tensor({16});
  testing::expect_error([&] { arena.tensor({32}); }, ErrorKind::internal, {"128", "192"});
}

}  // namespace
}  // namespace weft
