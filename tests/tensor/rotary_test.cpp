// tests/tensor/rotary_test.cpp: rotary positions compared with complex multiplication, in both layouts of
// pairs.
#include <complex>
#include <numeric>

#include "tensor/error.h"
#include "tensor/math.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

constexpr int64_t kPositions = 50;

Tensor angles(Workspace& w, int64_t head_size) {
  const Tensor table = w.nans({kPositions, head_size});
  for (int64_t p = 0; p < kPositions; ++p)
    for (int64_t i = 0; i < head_size; ++i)
      table.ptr<float>()[p * head_size + i] =
          static_cast<float>(sinusoid(PositionLayout::interleaved, p, i, head_size));
  return table;
}

// Pair i of each head, as a complex number, times e^(i position 10000^(-2i/K)).
Doubles reference(Doubles x, const std::vector<int32_t>& positions, int64_t heads, int64_t size, bool halves) {
  for (size_t r = 0; r < positions.size(); ++r)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t i = 0; i < size / 2; ++i) {
        const double frequency = std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(size));
        double* const first = &x[r * static_cast<size_t>(heads * size) + static_cast<size_t>(head * size)];
        double &re = first[halves ? i : 2 * i], &im = first[halves ? i + size / 2 : 2 * i + 1];
        const auto z = std::complex<double>(re, im) * std::polar(1.0, positions[r] * frequency);
        re = z.real(), im = z.imag();
      }
  return x;
}

TEST(Rotary, TurnsPairsByTheirPositionsAndBack) {
  Workspace w;
  const std::vector<int32_t> positions{0, 1, 7, 49, 3};
  for (const auto& [heads, size] : {std::pair<int64_t, int64_t>{1, 2}, {3, 4}, {2, 10}, {4, 64}}) {
    for (const bool halves : {false, true}) {
      const Tensor x = w.random_slice(5, heads * size), y = w.nan_slice(5, heads * size);
      const ops::Rotary a{
          .x = x, .positions = w.ints(positions), .table = angles(w, size), .y = y, .heads = heads, .halves = halves};
      ops::rotary(w.ctx, a);
      expect_close(y, reference(to_doubles(x), positions, heads, size, halves), tolerance(2), "turned");
      ops::Rotary back = a;
      back.x = y, back.inverse = true;
      ops::rotary(w.ctx, back);
      expect_close(y, to_doubles(x), tolerance(4), "turned back in place");
    }
  }
}

TEST(Rotary, LeavesProductsADependenceOnDifferencesAlone) {
  Workspace w;
  const Tensor q = w.random({1, 8}), k = w.random({1, 8}), table = angles(w, 8);
  const auto product = [&](int32_t query, int32_t key) {
    const auto turned = [&](const Tensor& x, int32_t position) {
      const Tensor y = w.nans({1, 8});
      ops::rotary(w.ctx, {.x = x, .positions = w.ints({position}), .table = table, .y = y});
      return to_doubles(y);
    };
    const Doubles a = turned(q, query), b = turned(k, key);
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  EXPECT_NEAR(product(5, 2), product(43, 40), 1e-5);
  EXPECT_GT(std::abs(product(5, 2) - product(5, 4)), 1e-2);
}

TEST(Rotary, RefusesAnOddHead) {
  Workspace w;
  const Tensor x = w.random({1, 6}), table = w.random({kPositions, 3});
  EXPECT_THROW(ops::rotary(w.ctx, {.x = x, .positions = w.ints({0}), .table = table, .y = x, .heads = 2}), Error);
}

}  // namespace
}  // namespace weft::testing
