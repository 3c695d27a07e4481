// tests/tensor/embedding_test.cpp: look-up over split tables, its gradient with repeated ids, positions.
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

TEST(Embedding, SumOfTheShardsIsTheWholeTable) {
  Workspace w;
  const Tensor table = w.random({10, 5}), ids = w.ints({3, 9, -1, 0, 4, 3});
  const Tensor whole = w.nans({6, 5}), low = w.nan_slice(6, 5), high = w.nans({6, 5});
  ops::embedding_forward(w.ctx, {.ids = ids, .table = table, .scale = 3, .y = whole});
  ops::embedding_forward(w.ctx, {.ids = ids, .table = table.slice_rows(0, 4), .scale = 3, .y = low});
  ops::embedding_forward(w.ctx, {.ids = ids, .table = table.slice_rows(4, 6), .first_id = 4, .scale = 3, .y = high});
  const std::vector<float> a = values(low), b = values(high), all = values(whole);
  for (size_t i = 0; i < all.size(); ++i) {
    const int32_t id = ids.ptr<int32_t>()[i / 5];
    EXPECT_EQ(all[i], id < 0 ? 0.0f : 3 * table.ptr<float>()[id * 5 + static_cast<int64_t>(i % 5)]);
    EXPECT_EQ(a[i] + b[i], all[i]);
  }
}

TEST(SortIds, PutsRowsOfOneIdNextToEachOtherInOrder) {
  const std::vector<int32_t> sorted = ops::sort_ids({7, 5, 7, -1, 4, 7});
  EXPECT_EQ(sorted, (std::vector<int32_t>{-1, 4, 5, 7, 7, 7, /*rows*/ 3, 4, 1, 0, 2, 5}));
  EXPECT_TRUE(ops::sort_ids({}).empty());
}

TEST(Embedding, BackwardAddsEveryRowOfAnId) {
  Workspace w;
  const Tensor ids = w.ints({7, 5, 7, -1, 4, 7, 11}), d_y = w.random_slice(7, 3), d_table = w.filled({6, 3}, 1);
  ops::embedding_backward(
      w.ctx, {.sorted = w.sorted({7, 5, 7, -1, 4, 7, 11}), .d_y = d_y, .first_id = 5, .scale = 2, .d_table = d_table});
  Doubles want(18, 1.0);
  const Doubles g = to_doubles(d_y);
  for (size_t r = 0; r < 7; ++r) {
    const int32_t id = ids.ptr<int32_t>()[r];
    if (id < 5 || id >= 11) continue;
    for (size_t c = 0; c < 3; ++c) want[static_cast<size_t>(id - 5) * 3 + c] += 2 * g[r * 3 + c];
  }
  expect_close(d_table, want, tolerance(3));
}

TEST(Embedding, BackwardIsForwardsTransposeOnAwkwardShapes) {
  Workspace w;
  const std::vector<int32_t> lists[] = {{0}, {-1}, {3, 0, 3, 3}, {1, 2, 3, 4, 0, 9}};  // 4 and 9: another rank's
  for (int64_t width : {1, 5, 67}) {
    for (const std::vector<int32_t>& list : lists) {
      const int64_t rows = static_cast<int64_t>(list.size());
      const Tensor ids = w.ints(list), table = w.random({4, width}), d_y = w.random_slice(rows, width);
      const Tensor y = w.nan_slice(rows, width), d_table = w.zeros({4, width});
      ops::embedding_forward(w.ctx, {.ids = ids, .table = table, .scale = 3, .y = y});
      ops::embedding_backward(w.ctx, {.sorted = w.sorted(list), .d_y = d_y, .scale = 3, .d_table = d_table});
      const auto look_up = [&](const Doubles& t) {
        Doubles rows_of;
        for (int32_t id : list)
          for (int64_t c = 0; c < width; ++c)
            rows_of.push_back(id < 0 || id >= 4 ? 0 : 3 * t[static_cast<size_t>(id * width + c)]);
        return rows_of;
      };
      const Doubles t = to_doubles(table), g = to_doubles(d_y);
      expect_close(y, look_up(t), tolerance(1, 0.1), "y");
      expect_close(d_table, numerical_gradient([&](const Doubles& v) { return weighted_sum(look_up(v), g); }, t),
                   tolerance(rows), "d_table");
    }
  }
}

TEST(Embedding, BackwardIsTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace& w) {
    std::vector<int32_t> ids;
    for (int i = 0; i < 1200; ++i) ids.push_back(i * i % 7);
    const Tensor d_table = w.zeros({7, 9});
    ops::embedding_backward(w.ctx, {.sorted = w.sorted(ids), .d_y = w.random({1200, 9}), .d_table = d_table});
    return bytes_of(d_table);
  });
}

TEST(Embedding, OfACutRowIsZeroAndHasNoGradient) {
  Workspace w;
  constexpr int64_t kRows = 4000, kWidth = 3;
  const Dropout cut{
      .rate = 0.2f, .seed = 3, .purpose = 9, .row_stride = 1, .block_stride = kRows, .scalars = &kTestScalars};
  std::vector<int32_t> ids, kept;
  for (int32_t i = 0; i < kRows; ++i) {
    ids.push_back(i % 7);
    kept.push_back(cut.mask().keeps(cut.mask().index(i, 0)) ? i % 7 : -1);
  }
  EXPECT_NEAR(static_cast<double>(std::ranges::count(kept, -1)), 0.2 * kRows, 4 * std::sqrt(0.16 * kRows));

  const Tensor table = w.random({7, kWidth}), d_y = w.random({kRows, kWidth});
  const Tensor got = w.nans({kRows, kWidth}), want = w.nans({kRows, kWidth});
  ops::embedding_forward(w.ctx, {.ids = w.ints(ids), .table = table, .scale = 3, .y = got, .cut = cut});
  ops::embedding_forward(w.ctx, {.ids = w.ints(kept), .table = table, .scale = 3, .y = want});
  EXPECT_EQ(values(got), values(want));

  const Tensor d_table = w.zeros({7, kWidth}), d_kept = w.zeros({7, kWidth});
  ops::embedding_backward(w.ctx, {.sorted = w.sorted(ids), .d_y = d_y, .d_table = d_table, .cut = cut});
  ops::embedding_backward(w.ctx, {.sorted = w.sorted(kept), .d_y = d_y, .d_table = d_kept});
  expect_close(d_table, to_doubles(d_kept), tolerance(kRows));
}

TEST(AddPositions, AddsTheTablesRowThenDrops) {
  Workspace w;
  for (int64_t width : {1, 5, 300}) {
    for (const Dropout& dropout : {Dropout{}, kTestDropout}) {
      const Tensor x = w.random_slice(4, width), table = w.random({6, width});
      const Tensor positions = w.ints({5, 0, 1, 0}), y = w.nan_slice(4, width);
      Doubles want = to_doubles(x);
      for (size_t i = 0; i < want.size(); ++i) {
        const auto r = static_cast<int64_t>(i) / width, c = static_cast<int64_t>(i) % width;
        want[i] =
            (want[i] + table.ptr<float>()[positions.ptr<int32_t>()[r] * width + c]) * dropout_factor(dropout, r, c);
      }
      ops::add_positions(w.ctx, {.x = x, .positions = positions, .table = table, .y = y, .dropout = dropout});
      expect_close(y, want, tolerance(1, 0.5));
      ops::add_positions(w.ctx, {.x = x, .positions = positions, .table = table, .y = x, .dropout = dropout});
      EXPECT_EQ(values(x), values(y)) << "in place";
    }
  }
}

}  // namespace
}  // namespace weft::testing
