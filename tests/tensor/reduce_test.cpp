// tests/tensor/reduce_test.cpp: column sums, sums and sums of squares.
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

TEST(ColumnSum, AddsTheColumnsToWhatIsThere) {
  Workspace w;
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {1, 70}, {600, 1}, {300, 131}, {3000, 9}}) {
    const Tensor x = w.random_slice(rows, cols), y = w.random({cols});
    Doubles want = to_doubles(y);
    const Doubles in = to_doubles(x);
    for (size_t i = 0; i < in.size(); ++i) want[i % static_cast<size_t>(cols)] += in[i];
    ops::column_sum(w.ctx, {.x = x, .y = y});
    expect_close(y, want, tolerance(rows));
  }
}

TEST(Sum, IsExactInDouble) {
  Workspace w;
  for (int64_t n : {1, 63, 64, 65, 5000}) {
    const Tensor x = w.random({n}), sum = w.doubles({1}), squares = w.doubles({1});
    *sum.ptr<double>() = 5;       // accumulated
    *squares.ptr<double>() = 10;  // added to
    double want = 0, want_squares = 10;
    for (double v : to_doubles(x)) want += v, want_squares += v * v;
    ops::sum(w.ctx, {.x = x, .y = sum});
    ops::sum_squares(w.ctx, {.x = x, .y = squares});
    EXPECT_NEAR(*sum.ptr<double>(), 5 + want, 1e-11);
    EXPECT_NEAR(*squares.ptr<double>(), want_squares, 1e-11);
  }
}

TEST(SumSquares, ShowsNaNAndInfinity) {
  Workspace w;
  const Tensor x = w.random({100}), y = w.doubles({1});
  x.ptr<float>()[99] = std::numeric_limits<float>::infinity();
  ops::sum_squares(w.ctx, {.x = x, .y = y});
  EXPECT_TRUE(std::isinf(*y.ptr<double>()));
  x.ptr<float>()[0] = std::nanf("");
  ops::sum_squares(w.ctx, {.x = x, .y = y});
  EXPECT_TRUE(std::isnan(*y.ptr<double>()));
}

TEST(Reduce, IsTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace& w) {
    const Tensor x = w.random({500, 130}), y = w.zeros({130}), sum = w.doubles({1}), squares = w.doubles({1});
    ops::column_sum(w.ctx, {.x = x, .y = y});
    ops::sum(w.ctx, {.x = x, .y = sum});
    ops::sum_squares(w.ctx, {.x = x, .y = squares});
    return bytes_of(y) + bytes_of(sum) + bytes_of(squares);
  });
}

}  // namespace
}  // namespace weft::testing
