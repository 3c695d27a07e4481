// tests/tensor/gemm/weight_gemm_test.cpp: GEMMs with a weight's copy for inference, where the processor has such a
// product, and without elsewhere: loops in double, and independence of rows and threads.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <span>

#include "tensor/half.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

class WeightGemm : public ::testing::TestWithParam<DType> {
 protected:
  // A copy in this storage; of random values that bf16 represents exactly.
  static Tensor random(Workspace& w, Shape shape) {
    const Tensor x = w.random(shape);
    for (float& value : std::span(x.ptr<float>(), static_cast<size_t>(x.numel())))
      value = to_float(from_float<BFloat16>(value));
    if (GetParam() == DType::f32) return x;
    const Tensor halves(w.nans(shape).data, shape, DType::bf16);
    ops::cast(w.ctx, {.x = x, .y = halves});
    return halves;
  }
  // W [n, k] with its copy; the matrix itself becomes NaN. No copy where the processor has no such product.
  static ops::Weight packed(Workspace& w, const Tensor& matrix) {
    ops::Weight weight = matrix;
    const int64_t numel = ops::inference_numel(w.ctx.device(), GetParam(), matrix.cols(), matrix.rows());
    if (numel == 0) return weight;
    weight.inference = Tensor(w.nans({numel}).data, {numel}, GetParam());
    ops::pack_weight(w.ctx, {.weight = weight});
    std::memset(matrix.data, 0xFF, matrix.bytes());
    return weight;
  }
  static Doubles to_doubles_of(Workspace& w, const Tensor& x) {
    if (x.dtype == DType::f32) return to_doubles(x);
    const Tensor wide = w.zeros(x.shape);
    ops::cast(w.ctx, {.x = x, .y = wide});
    return to_doubles(wide);
  }
  static void expect_right(int64_t m, int64_t n, int64_t k) {
    SCOPED_TRACE(fmt::format("[{}, {}, {}]", m, n, k));
    Workspace w;
    const Tensor a = random(w, {m, k}), matrix = random(w, {n, k}), bias = w.random({n}), c = w.nans({m, n});
    const Doubles x = to_doubles_of(w, a), y = to_doubles_of(w, matrix);
    Doubles want;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = bias.ptr<float>()[j];
        for (int64_t p = 0; p < k; ++p) sum += x[static_cast<size_t>(i * k + p)] * y[static_cast<size_t>(j * k + p)];
        want.push_back(sum);
      }
    ops::gemm(w.ctx, {.a = a, .b = packed(w, matrix), .c = c, .trans_b = true, .bias = bias});
    expect_close(c, want, tolerance(k, 0.5), "gemm");
  }
};

TEST_P(WeightGemm, MatchesLoopsForAwkwardShapes) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 2}, {3, 47, 30}, {8, 48, 16}, {9, 97, 64}, {71, 160, 38}})
    expect_right(m, n, k);
}

// Rows are multiplied up to eight at a time, and the columns of up to three vectors.
TEST_P(WeightGemm, MatchesLoopsForAnyNumberOfRows) {
  for (int64_t m = 1; m <= 17; ++m)
    for (const int64_t n : {48 + 16, 48 + 32, 100}) expect_right(m, n, 22);
}

TEST_P(WeightGemm, ReadsTheCopyInsteadOfTheMatrix) {
  Workspace w;
  const ops::Weight weight = packed(w, random(w, {100, 60}));
  if (weight.inference.empty()) GTEST_SKIP() << "no product with copies of weights: it needs AVX2, in bf16 AVX512_BF16";
  const Tensor a = random(w, {5, 60}), c = w.nans({5, 100});
  ops::gemm(w.ctx, {.a = a, .b = weight, .c = c, .trans_b = true});
  for (const float x : values(c)) EXPECT_TRUE(std::isfinite(x));
}

TEST_P(WeightGemm, GivesARowTheSameBitsAmongAnyOthers) {
  Workspace w;
  const ops::Weight weight = packed(w, random(w, {100, 60}));
  if (weight.inference.empty() && GetParam() == DType::bf16)
    GTEST_SKIP() << "no product with copies of bf16 weights: it needs AVX512_BF16; oneDNN's do not promise it";
  const Tensor a = random(w, {130, 60}), all = w.nans({130, 100});
  ops::gemm(w.ctx, {.a = a, .b = weight, .c = all, .trans_b = true});
  const auto expect_same = [&](int64_t rows) {
    const Tensor some = w.nans({rows, 100});
    ops::gemm(w.ctx, {.a = a.slice_rows(130 - rows, rows), .b = weight, .c = some, .trans_b = true});
    EXPECT_EQ(bytes_of(some), bytes_of(all.slice_rows(130 - rows, rows))) << rows << " rows";
  };
  for (int64_t rows = 1; rows <= 17; ++rows) expect_same(rows);
  expect_same(64), expect_same(65);
}

TEST_P(WeightGemm, IsTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace& w) {
    const ops::Weight weight = packed(w, random(w, {200, 100}));
    const Tensor c = w.nans({90, 200});
    ops::gemm(w.ctx, {.a = random(w, {90, 100}), .b = weight, .c = c, .trans_b = true});
    return bytes_of(c);
  });
}

INSTANTIATE_TEST_SUITE_P(Storage, WeightGemm, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace weft::testing
