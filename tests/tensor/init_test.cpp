// tests/tensor/init_test.cpp: initial values have their distribution; those of a shard are a slice of the
// whole.
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

using InitKind = ops::Init::Kind;

ops::Init whole(const Tensor& x, int64_t outer, int64_t dim, int64_t inner, InitKind kind, float value) {
  return {.x = x,
          .outer = outer,
          .dim = dim,
          .inner = inner,
          .global_dim = dim,
          .kind = kind,
          .value = value,
          .seed = 3,
          .purpose = 8};
}

TEST(Init, OfAShardIsASliceOfTheWhole) {
  Workspace w;
  for (const InitKind kind : {InitKind::constant, InitKind::uniform, InitKind::normal}) {
    const Tensor all = w.nans({3, 10, 4}), part = w.nans({3, 6, 4});
    ops::init(w.ctx, whole(all, 3, 10, 4, kind, 0.5f));
    auto a = whole(part, 3, 6, 4, kind, 0.5f);
    a.begin = 6;  // rows 6 to 9 exist, two more pad the last rank's shard
    a.global_dim = 10;
    ops::init(w.ctx, a);
    for (int64_t o = 0; o < 3; ++o) {
      for (int64_t i = 0; i < 6; ++i) {
        for (int64_t r = 0; r < 4; ++r) {
          EXPECT_EQ(part.ptr<float>()[(o * 6 + i) * 4 + r], i < 4 ? all.ptr<float>()[(o * 10 + i + 6) * 4 + r] : 0.0f);
        }
      }
    }
  }
}

TEST(Init, HasTheMomentsItIsAskedFor) {
  Workspace w;
  constexpr int64_t kCount = 200000;
  const Tensor x = w.nans({kCount});
  const auto moments = [&](InitKind kind) {
    ops::init(w.ctx, whole(x, 1, kCount, 1, kind, 2.0f));
    double mean = 0, square = 0, fourth = 0;
    for (double v : to_doubles(x)) mean += v, square += v * v, fourth += v * v * v * v;
    return std::array{mean / kCount, square / kCount, fourth / kCount};
  };
  const auto [mean, square, fourth] = moments(InitKind::normal);
  EXPECT_NEAR(mean, 0, 0.03);
  EXPECT_NEAR(square, 4, 0.08);
  EXPECT_NEAR(fourth, 48, 3);
  const auto [u_mean, u_square, u_fourth] = moments(InitKind::uniform);
  EXPECT_NEAR(u_mean, 0, 0.02);
  EXPECT_NEAR(u_square, 4.0 / 3, 0.02);
  EXPECT_NEAR(u_fourth, 16.0 / 5, 0.06);
  for (float v : values(x)) ASSERT_TRUE(v > -2 && v <= 2);
}

TEST(Init, DependsOnSeedAndPurpose) {
  Workspace w;
  const Tensor a = w.nans({50}), b = w.nans({50}), c = w.nans({50});
  auto init = whole(a, 1, 50, 1, InitKind::normal, 1);
  ops::init(w.ctx, init);
  init.x = b;
  init.seed = 4;
  ops::init(w.ctx, init);
  init.x = c;
  init.purpose = 9;
  ops::init(w.ctx, init);
  EXPECT_NE(values(a), values(b));
  EXPECT_NE(values(b), values(c));
}

TEST(Init, IsTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace& w) {
    const Tensor x = w.nans({2, 300, 25});
    ops::init(w.ctx, whole(x, 2, 300, 25, InitKind::normal, 1));
    return bytes_of(x);
  });
}

}  // namespace
}  // namespace weft::testing
