// tests/tensor/gemm/half_gemm_test.cpp: bf16 GEMMs compared with loops in double, with and without tiles;
// packed weights; independence of rows.
#include "tensor/cpu/gemm/gemm_tiles.h"
#include "tensor/cpu/runtime.h"
#include "tensor/error.h"
#include "tensor/half.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

struct HalfCase {
  int64_t m, n, k;
  bool trans_a, trans_b, bias, accumulate, half_c;
  std::string name() const {
    return fmt::format("[{}, {}, {}] trans_a {} trans_b {} bias {} accumulate {} half_c {}", m, n, k, trans_a, trans_b,
                       bias, accumulate, half_c);
  }
};

class HalfGemm : public ::testing::TestWithParam<bool> {  // whether tiles may be used
 protected:
  HalfGemm() { allow_tiles(w_.ctx); }
  void allow_tiles(Context& ctx) const {
    if (ctx.device() == Device::cpu) cpu::runtime(ctx).use_tiles(GetParam());
  }

  // A column slice of a wider matrix of NaN, with values that bf16 represents exactly.
  Tensor random_halves(int64_t rows, int64_t cols) {
    const Tensor wide = halves({rows, cols + 5}), exact = halves({rows, cols});
    ops::cast(w_.ctx, {.x = w_.random({rows, cols}), .y = exact});
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(exact.ptr<BFloat16>() + r * cols, cols, wide.ptr<BFloat16>() + r * (cols + 5) + 3);
    return wide.slice_cols(3, cols);
  }
  Tensor halves(Shape shape) {
    buffers_.emplace_back(static_cast<size_t>(shape.numel()) * sizeof(BFloat16) + 64);
    std::memset(buffers_.back().data(), 0xFF, buffers_.back().bytes());
    return buffers_.back().tensor(shape, DType::bf16);
  }
  static std::vector<double> doubles_of(const Tensor& t) {
    std::vector<double> out;
    for (int64_t r = 0; r < t.rows(); ++r)
      for (int64_t c = 0; c < t.cols(); ++c)
        out.push_back(t.dtype == DType::bf16 ? to_float(t.ptr<BFloat16>()[r * t.row_stride + c])
                                             : t.ptr<float>()[r * t.row_stride + c]);
    return out;
  }

  void expect_right(const HalfCase& t) {
    SCOPED_TRACE(t.name());
    const Tensor a = t.trans_a ? random_halves(t.k, t.m) : random_halves(t.m, t.k);
    const Tensor b = t.trans_b ? random_halves(t.n, t.k) : random_halves(t.k, t.n);
    const Tensor bias = t.bias ? w_.random({t.n}) : Tensor();
    const Tensor c = t.half_c ? random_halves(t.m, t.n) : w_.random_slice(t.m, t.n);
    const std::vector<double> x = doubles_of(a), y = doubles_of(b), z = doubles_of(c);
    ops::gemm(
        w_.ctx,
        {.a = a, .b = b, .c = c, .trans_a = t.trans_a, .trans_b = t.trans_b, .bias = bias, .accumulate = t.accumulate});
    const std::vector<double> got = doubles_of(c);
    for (int64_t i = 0; i < t.m; ++i) {
      for (int64_t j = 0; j < t.n; ++j) {
        const auto at = [](int64_t n) { return static_cast<size_t>(n); };
        const double added = t.bias ? bias.ptr<float>()[j] : 0.0;
        double want = added + (t.accumulate ? z[at(i * t.n + j)] : 0.0);
        for (int64_t p = 0; p < t.k; ++p)
          want += x[at(t.trans_a ? p * t.m + i : i * t.k + p)] * y[at(t.trans_b ? j * t.k + p : p * t.n + j)];
        const double rounded_bias = w_.ctx.device() == Device::cpu ? 0 : std::abs(added);  // cuBLASLt rounds the bias
        const double rounding = (t.half_c ? 0x1p-8 : 0x1p-23) * (std::abs(want) + rounded_bias);
        const double sums = 0x1p-24 * static_cast<double>(t.k + 2) * (1 + std::sqrt(static_cast<double>(t.k)));
        ASSERT_NEAR(got[at(i * t.n + j)], want, rounding + sums) << "row " << i << " column " << j;
      }
    }
  }

  Workspace w_;
  std::vector<Buffer> buffers_;
};

TEST_P(HalfGemm, MatchesLoopsForEveryVariantAndAwkwardShapes) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                {1, 9, 5},
                                {16, 16, 32},
                                {17, 33, 31},
                                {32, 64, 96},
                                {40, 70, 100},
                                {33, 65, 530}})
    for (int v = 0; v < 32; ++v)
      expect_right({m, n, k, (v & 1) != 0, (v & 2) != 0, (v & 4) != 0, (v & 8) != 0, (v & 16) != 0});
}

// Deeper than a panel's block and a group of blocks; more rows than a task.
TEST_P(HalfGemm, MatchesLoopsBeyondItsBlocks) {
  for (const bool trans_a : {false, true}) {
    expect_right({.m = 70, .n = 40, .k = 1100, .trans_a = trans_a, .half_c = true});
    expect_right({.m = 40, .n = 70, .k = 4200, .trans_a = trans_a, .trans_b = true, .accumulate = true});
    expect_right({.m = 1100, .n = 40, .k = 64, .trans_a = trans_a, .trans_b = true, .bias = true, .half_c = true});
    expect_right({.m = 5, .n = 600, .k = 70, .trans_a = trans_a});
  }
}

// Results written with non-temporal stores, a cache line at a time, and the remaining columns.
TEST_P(HalfGemm, WritesLargeResultsWhole) {
  for (const int64_t n : {288, 300}) {
    const int64_t m = 520, k = 40;
    const Tensor a = random_halves(m, k), b = random_halves(k, n), c = halves({m, n}), sums = w_.nans({m, n});
    ops::gemm(w_.ctx, {.a = a, .b = b, .c = c});
    ops::gemm(w_.ctx, {.a = a, .b = b, .c = sums});
    const std::vector<double> got = doubles_of(c), want = doubles_of(sums);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 0x1p-8 * std::abs(want[i])) << i;
  }
}

class TileGemm : public HalfGemm {  // what oneDNN's kernels, without tiles, do not promise
 protected:
  void SetUp() override {
    if (!cpu::has_gemm_tiles()) GTEST_SKIP() << "no AMX tiles";
  }
};

TEST_P(TileGemm, GivesARowTheSameBitsWhateverTheOtherRows) {
  const Tensor a = random_halves(300, 608), b = random_halves(100, 608);
  const Tensor all = w_.nans({300, 100}), some = w_.nans({300, 100});
  ops::gemm(w_.ctx, {.a = a, .b = b, .c = all, .trans_b = true});
  for (int64_t m : {1, 2, 5, 16, 31, 33, 260}) {
    const int64_t first = 300 - m;
    ops::gemm(w_.ctx, {.a = a.slice_rows(first, m), .b = b, .c = some.slice_rows(0, m), .trans_b = true});
    EXPECT_EQ(bytes_of(some.slice_rows(0, m)), bytes_of(all.slice_rows(first, m))) << m << " rows";
  }
}

TEST_P(HalfGemm, IsTheSameOnAnyNumberOfThreads) {
  const Tensor a = random_halves(300, 700), b = random_halves(300, 90);
  expect_same_on_any_threads([&](Workspace& w) {
    allow_tiles(w.ctx);
    const Tensor c = w.zeros({700, 90});
    ops::gemm(w.ctx, {.a = a, .b = b, .c = c, .trans_a = true, .accumulate = true});
    return bytes_of(c);
  });
}

TEST_P(TileGemm, PackedWeightsGiveTheSameBits) {
  for (const bool trans_b : {false, true}) {
    const int64_t m = 45, n = 75, k = 1130;
    const Tensor a = random_halves(m, k), b = trans_b ? random_halves(n, k) : random_halves(k, n);
    const int64_t numel = ops::packed_numel(w_.ctx.device(), DType::bf16, k, n);
    ASSERT_GT(numel, 0);
    const Tensor plain = w_.nans({m, n}), c = w_.nans({m, n});
    ops::Weight weight = b;
    (trans_b ? weight.packed_forward : weight.packed_backward) = halves({numel});
    ops::pack_weight(w_.ctx, {.weight = weight});
    ops::gemm(w_.ctx, {.a = a, .b = b, .c = plain, .trans_b = trans_b});
    for (int64_t r = 0; r < b.rows(); ++r)  // NaN: only the packed copy is valid
      std::fill_n(reinterpret_cast<uint16_t*>(b.ptr<BFloat16>() + r * b.row_stride), b.cols(), uint16_t{0xFFFF});
    ops::gemm(w_.ctx, {.a = a, .b = weight, .c = c, .trans_b = trans_b});
    EXPECT_EQ(bytes_of(c), bytes_of(plain));
  }
}

// On a processor without tiles both runs are the same.
INSTANTIATE_TEST_SUITE_P(Tiles, HalfGemm, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "allowed" : "not_allowed"; });
INSTANTIATE_TEST_SUITE_P(Tiles, TileGemm, ::testing::Values(true), [](const auto&) { return "allowed"; });

}  // namespace
}  // namespace weft::testing
