// tests/tensor/decode_test.cpp: gathered and scattered rows, and the best columns with their ties.
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

TEST(GatherRows, CopiesTheNamedRows) {
  Workspace w;
  const Tensor x = w.random_slice(5, 3), y = w.nan_slice(4, 3);
  ops::gather_rows(w.ctx, {.x = x, .rows = w.ints({4, 0, 4, 2}), .y = y});
  for (const auto& [to, from] : {std::pair{0, 4}, {1, 0}, {2, 4}, {3, 2}}) {
    EXPECT_EQ(values(y.slice_rows(to, 1)), values(x.slice_rows(from, 1)));
  }
}

TEST(ScatterRows, WritesOnlyTheNamedRows) {
  Workspace w;
  const Tensor x = w.random({2, 3}), y = w.filled({5, 3}, 1);
  ops::scatter_rows(w.ctx, {.x = x, .rows = w.ints({3, 1}), .y = y});
  EXPECT_EQ(values(y.slice_rows(3, 1)), values(x.slice_rows(0, 1)));
  EXPECT_EQ(values(y.slice_rows(1, 1)), values(x.slice_rows(1, 1)));
  for (int64_t row : {0, 2, 4}) EXPECT_EQ(values(y.slice_rows(row, 1)), (std::vector<float>{1, 1, 1}));
}

struct Best {
  std::vector<float> values;
  std::vector<int32_t> columns;
};

Best top_k(Workspace& w, const Tensor& x, int64_t valid, int64_t k) {
  const Tensor best = w.nans({x.rows(), k}), columns = w.ints(std::vector<int32_t>(static_cast<size_t>(x.rows() * k)));
  ops::top_k(w.ctx, {.x = x, .valid = valid, .values = best, .columns = columns.with_shape({x.rows(), k})});
  return {values(best), values<int32_t>(columns)};
}

TEST(TopK, EqualsAStableSort) {
  Workspace w;
  for (const auto& [cols, k] : {std::pair<int64_t, int64_t>{1, 1}, {9, 9}, {200, 5}, {1000, 70}, {5000, 12}}) {
    const Tensor x = w.random_slice(3, cols);
    for (int64_t i = 0; i < 3 * x.row_stride - 5; ++i) {  // coarse values, so that ties are common
      x.ptr<float>()[i] = std::round(x.ptr<float>()[i] * 20);
    }
    const Best got = top_k(w, x, cols, k);
    for (int64_t r = 0; r < 3; ++r) {
      const float* row = x.ptr<float>() + r * x.row_stride;
      std::vector<int32_t> order(static_cast<size_t>(cols));
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return row[a] > row[b]; });
      for (int64_t i = 0; i < k; ++i) {
        EXPECT_EQ(got.columns[static_cast<size_t>(r * k + i)], order[static_cast<size_t>(i)]);
        EXPECT_EQ(got.values[static_cast<size_t>(r * k + i)], row[order[static_cast<size_t>(i)]]);
      }
    }
  }
}

TEST(TopK, PutsForbiddenClassesLast) {
  Workspace w;
  const Tensor x = w.filled({2, 100}, 1);
  for (int i = 0; i < 100; ++i) x.ptr<float>()[i] = x.ptr<float>()[100 + i] = static_cast<float>(i);
  std::vector<int32_t> classes(100);
  for (size_t i = 0; i < 100; ++i) classes[i] = static_cast<int32_t>(i % 3);
  const Tensor best = w.nans({2, 3}), columns = w.ints(std::vector<int32_t>(6)).with_shape({2, 3});
  ops::top_k(w.ctx, {.x = x,
                     .valid = 100,
                     .values = best,
                     .columns = columns,
                     .classes = w.ints(classes),
                     .allowed = w.ints({0b110, 0})});
  EXPECT_EQ(values<int32_t>(columns), (std::vector<int32_t>{98, 97, 95, 0, 1, 2}));
  EXPECT_EQ(values(best)[2], 95);
  EXPECT_EQ(values(best)[3], -std::numeric_limits<float>::infinity());
}

TEST(TopK, NeverSeesPaddingAndTakesMinusInfinity) {
  Workspace w;
  const Tensor x = w.filled({1, 6}, -std::numeric_limits<float>::infinity());
  x.ptr<float>()[2] = 1;
  x.ptr<float>()[5] = 9;
  EXPECT_EQ(top_k(w, x, 4, 3).columns, (std::vector<int32_t>{2, 0, 1}));
}

}  // namespace
}  // namespace weft::testing
