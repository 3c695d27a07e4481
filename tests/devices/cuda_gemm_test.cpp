// tests/devices/cuda_gemm_test.cpp: GEMMs on a real or emulated CUDA device: plans by alignment, shapes that
// only our kernel supports, 16-bit biases, the same bits in every run, tuning.
#include <array>
#include <cmath>
#include <regex>

#include "tensor/error.h"
#include "tensor/half.h"
#include "tensor/memory.h"
#include "tensor/ops.h"
#include "tensor/transfer.h"
#include "tests/support/compare.h"

namespace weft::testing {
namespace {

struct ProductCase {
  int64_t m, n, k;
  bool trans_a = false, trans_b = false, bias = false, accumulate = false;
  DType ab = DType::f32, c = DType::f32;
  int64_t extra = 0;                  // columns around the slice in its matrix
  std::array<int64_t, 3> first = {};  // first column of the slices a, b and c
};

constexpr std::array<int64_t, 3> all_at(int64_t first) { return {first, first, first}; }

class CudaGemm : public ::testing::Test {
 protected:
  // A slice of a matrix of numbers in [-1, 1] that both 16-bit formats represent, with a copy in double on
  // the host.
  struct Matrix {
    Tensor tensor;
    std::vector<double> values;  // of the slice, row by row
    Buffer buffer;
  };

  Matrix matrix(int64_t rows, int64_t cols, DType dtype, int64_t extra = 0, int64_t first = 0) {
    Matrix made;
    const int64_t stride = cols + extra;
    std::vector<float> wide;
    for (int64_t i = 0; i < rows * stride; ++i) wide.push_back(static_cast<float>((i * 29 + seed_ * 7) % 33 - 16) / 16);
    ++seed_;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c) made.values.push_back(wide[static_cast<size_t>(r * stride + first + c)]);
    made.buffer = uploaded(wide, dtype);
    made.tensor = made.buffer.tensor({rows, stride}, dtype).slice_cols(first, cols);
    return made;
  }
  Buffer uploaded(const std::vector<float>& values, DType dtype) {
    Buffer buffer(values.size() * size_of(dtype), Device::cuda);
    const Tensor t = buffer.tensor({static_cast<int64_t>(values.size())}, dtype);
    for_storage(dtype, [&](auto zero) {
      std::vector<decltype(zero)> stored;
      for (float x : values) stored.push_back(from_float<decltype(zero)>(x));
      upload(ctx_, stored.data(), t);
    });
    return buffer;
  }
  static std::vector<float> waves(int64_t count) {  // numbers whose dot products are rounded
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(static_cast<float>(i)));
    return values;
  }
  // The whole matrix, with the columns around the slice.
  std::vector<double> downloaded(const Matrix& matrix) {
    const Tensor t = matrix.tensor;
    const Tensor all = matrix.buffer.tensor({t.rows() * t.row_stride}, t.dtype);
    return for_storage(t.dtype, [&](auto zero) {
      std::vector<double> values;
      for (const auto& x : to_host<decltype(zero)>(ctx_, all)) values.push_back(to_float(x));
      return values;
    });
  }

  void expect_right(const ProductCase& t) {
    const Matrix a = matrix(t.trans_a ? t.k : t.m, t.trans_a ? t.m : t.k, t.ab, t.extra, t.first[0]);
    const Matrix b = matrix(t.trans_b ? t.n : t.k, t.trans_b ? t.k : t.n, t.ab, t.extra, t.first[1]);
    const Matrix c = matrix(t.m, t.n, t.c, t.extra, t.first[2]);
    const std::vector<float> bias = waves(t.n);
    const Buffer bias_buffer = uploaded(bias, DType::f32);
    const std::vector<double> before = downloaded(c);
    weft::ops::gemm(ctx_, {.a = a.tensor,
                           .b = b.tensor,
                           .c = c.tensor,
                           .trans_a = t.trans_a,
                           .trans_b = t.trans_b,
                           .bias = t.bias ? bias_buffer.tensor({t.n}) : Tensor(),
                           .accumulate = t.accumulate});
    const std::vector<double> after = downloaded(c);
    const double rounding = t.c == DType::bf16 ? 0x1p-8 : t.c == DType::f16 ? 0x1p-11 : 0x1p-23;
    for (int64_t i = 0; i < t.m; ++i) {
      for (int64_t j = 0; j < t.n + t.extra; ++j) {
        const auto at = static_cast<size_t>(i * (t.n + t.extra) + j);
        const int64_t col = j - t.first[2];
        if (col < 0 || col >= t.n) {
          ASSERT_EQ(after[at], before[at]) << "beside the slice, row " << i << " column " << j;
          continue;
        }
        const double added = t.bias ? bias[static_cast<size_t>(col)] : 0;  // perhaps rounded first
        double want = added + (t.accumulate ? before[at] : 0.0);
        for (int64_t p = 0; p < t.k; ++p)
          want += a.values[static_cast<size_t>(t.trans_a ? p * t.m + i : i * t.k + p)] *
                  b.values[static_cast<size_t>(t.trans_b ? col * t.k + p : p * t.n + col)];
        const double sums = 0x1p-24 * static_cast<double>(t.k + 2) * (1 + std::sqrt(static_cast<double>(t.k)));
        ASSERT_NEAR(after[at], want, rounding * (std::abs(want) + std::abs(added)) + sums)
            << "row " << i << " column " << col;
      }
    }
  }

  // Every transposition, with and without bias and accumulation.
  void expect_right_in_every_variant(ProductCase t) {
    for (int variant = 0; variant < 16; ++variant) {
      t.trans_a = (variant & 1) != 0;
      t.trans_b = (variant & 2) != 0;
      t.bias = (variant & 4) != 0;
      t.accumulate = (variant & 8) != 0;
      SCOPED_TRACE(fmt::format("[{}, {}, {}] {} to {} extra {} first {} variant {}", t.m, t.n, t.k, name_of(t.ab),
                               name_of(t.c), t.extra, t.first[0], variant));
      expect_right(t);
    }
  }

  Context ctx_{Device::cuda};
  int64_t seed_ = 1;
};

constexpr std::array<std::pair<DType, DType>, 5> kTypes{{{DType::f32, DType::f32},
                                                         {DType::bf16, DType::bf16},
                                                         {DType::bf16, DType::f32},
                                                         {DType::f16, DType::f16},
                                                         {DType::f16, DType::f32}}};

TEST_F(CudaGemm, MatchesLoopsWhereAllIsAligned) {
  for (const auto& [ab, c] : kTypes) expect_right_in_every_variant({.m = 24, .n = 40, .k = 32, .ab = ab, .c = c});
}

// Column slices with rows aligned to 16, 4 and 2 bytes, and odd shapes.
TEST_F(CudaGemm, MatchesLoopsForSlicesOfAnyAlignment) {
  for (const auto& [ab, c] : kTypes) {
    expect_right_in_every_variant({.m = 16, .n = 8, .k = 24, .ab = ab, .c = c, .extra = 8, .first = all_at(8)});
    expect_right_in_every_variant({.m = 16, .n = 8, .k = 24, .ab = ab, .c = c, .extra = 6, .first = all_at(2)});
    expect_right_in_every_variant({.m = 17, .n = 9, .k = 23, .ab = ab, .c = c, .extra = 5, .first = all_at(3)});
  }
}

TEST_F(CudaGemm, MatchesLoopsForRowsAndColumnsAlone) {
  for (const auto& [ab, c] : kTypes) {
    expect_right_in_every_variant({.m = 1, .n = 1, .k = 1, .ab = ab, .c = c});
    expect_right_in_every_variant({.m = 1, .n = 33, .k = 5, .ab = ab, .c = c});
    expect_right_in_every_variant({.m = 35, .n = 1, .k = 6, .ab = ab, .c = c, .extra = 1});
  }
}

// If the library splits a sum into parts, it adds them in a fixed order.
TEST_F(CudaGemm, GivesTheSameBitsInEveryRun) {
  constexpr int64_t m = 32, n = 24, k = 2000;
  for (const auto& [ab, c_type] : kTypes) {
    const Buffer a = uploaded(waves(m * k), ab), b = uploaded(waves(k * n), ab);
    const Matrix c = matrix(m, n, c_type);
    const auto multiplied = [&, ab = ab] {
      weft::ops::gemm(ctx_, {.a = a.tensor({m, k}, ab), .b = b.tensor({k, n}, ab), .c = c.tensor});
      return downloaded(c);
    };
    const std::vector<double> once = multiplied();
    for (int run = 0; run < 3; ++run) EXPECT_EQ(multiplied(), once) << name_of(ab) << " to " << name_of(c_type);
  }
}

// The same shape and strides with less alignment need another plan.
TEST_F(CudaGemm, EachOperandMayBeAlignedInItsOwnWay) {
  const auto expect_right_at = [&](const std::array<int64_t, 3>& first) {
    SCOPED_TRACE(fmt::format("{} {} {}", first[0], first[1], first[2]));
    expect_right(
        {.m = 8, .n = 16, .k = 24, .bias = true, .ab = DType::bf16, .c = DType::bf16, .extra = 8, .first = first});
  };
  for (const int64_t less_aligned : {2, 1}) {
    for (size_t operand = 0; operand < 3; ++operand) {
      std::array<int64_t, 3> first = all_at(0);
      expect_right_at(first);
      first[operand] = less_aligned;
      expect_right_at(first);
    }
  }
}

TEST_F(CudaGemm, ReadsTheBiasOfEachCall) {
  constexpr int64_t m = 8, n = 16, k = 4;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Matrix a = matrix(m, k, dtype), b = matrix(k, n, dtype), c = matrix(m, n, dtype);
    const Buffer zero = uploaded(std::vector<float>(n, 0), DType::f32),
                 one = uploaded(std::vector<float>(n, 1), DType::f32);
    const auto multiplied = [&](const Buffer& bias) {
      weft::ops::gemm(ctx_, {.a = a.tensor, .b = b.tensor, .c = c.tensor, .bias = bias.tensor({n})});
      return downloaded(c);
    };
    const std::vector<double> without = multiplied(zero), with = multiplied(one);
    for (size_t i = 0; i < with.size(); ++i) ASSERT_NEAR(with[i], without[i] + 1, 0x1p-6) << name_of(dtype) << " " << i;
  }
}

TEST_F(CudaGemm, ReadsARoundedBiasWhereItIsAligned) {
  constexpr int64_t m = 8, n = 16, k = 4;
  const Matrix a = matrix(m, k, DType::bf16), b = matrix(k, n, DType::bf16), c = matrix(m, n, DType::bf16);
  const Buffer zero = uploaded(std::vector<float>(n, 0), DType::f32);
  std::vector<float> ones(n + 1, 1);
  const Buffer one = uploaded(ones, DType::bf16);
  const auto multiplied = [&](const Tensor& rounded) {
    weft::ops::gemm(ctx_,
                    {.a = a.tensor, .b = b.tensor, .c = c.tensor, .bias = zero.tensor({n}), .rounded_bias = rounded});
    return downloaded(c);
  };
  const std::vector<double> without = multiplied({}), with = multiplied(one.tensor({n}, DType::bf16));
  for (size_t i = 0; i < with.size(); ++i) ASSERT_NEAR(with[i], without[i] + 1, 0x1p-6) << i;
  EXPECT_EQ(multiplied(one.tensor({n}, DType::bf16, /*offset=*/2)), without) << "rounded again";
}

TEST_F(CudaGemm, TakesABiasOfAnyAlignment) {
  constexpr int64_t m = 8, n = 16, k = 4;
  for (const auto& [ab, c_type] : kTypes) {
    const Matrix a = matrix(m, k, ab), b = matrix(k, n, ab), c = matrix(m, n, c_type);
    std::vector<float> values(n + 1);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Buffer bias = uploaded(values, DType::f32);
    const auto multiplied = [&](const Tensor& t) {
      weft::ops::gemm(ctx_, {.a = a.tensor, .b = b.tensor, .c = c.tensor, .bias = t});
      return downloaded(c);
    };
    const std::vector<double> without = multiplied({}), with = multiplied(bias.tensor({n}, DType::f32, sizeof(float)));
    for (int64_t i = 0; i < m * n; ++i) {
      const auto at = static_cast<size_t>(i);
      ASSERT_NEAR(with[at], without[at] + static_cast<double>(i % n + 1), 0x1p-3) << name_of(c_type) << " " << i;
    }
  }
}

TEST_F(CudaGemm, NothingIsWrittenToAnEmptyResult) {
  const Matrix a = matrix(4, 8, DType::f32);
  weft::ops::gemm(ctx_, {.a = a.tensor.slice_rows(0, 0),
                         .b = a.tensor,
                         .c = Tensor(nullptr, {0, 4}, DType::f32, Device::cuda),
                         .trans_b = true});
  ctx_.synchronize();
}

TEST_F(CudaGemm, IsRightWithEveryProposalOfCublasLt) {
  constexpr int64_t m = 32, n = 24, k = 2000;
  for (const auto& [ab, c_type] : kTypes) {
    SCOPED_TRACE(fmt::format("{} to {}", name_of(ab), name_of(c_type)));
    const Buffer a = uploaded(waves(m * k), ab), b = uploaded(waves(k * n), ab);
    const Matrix c = matrix(m, n, c_type);
    const auto multiply = [&, ab = ab] {
      weft::ops::gemm(ctx_, {.a = a.tensor({m, k}, ab), .b = b.tensor({k, n}, ab), .c = c.tensor});
    };
    const std::string tuned = ctx_.runtime().tune("", multiply);
    std::vector<double> first;
    for (int proposal = 0; proposal < 4; ++proposal) {  // without so many, our own kernel
      ctx_.runtime().tune(std::regex_replace(tuned, std::regex("\t[0-9]\t"), fmt::format("\t{}\t", proposal)), [] {});
      multiply();
      if (proposal == 0) first = downloaded(c);
      expect_close_in_norm(downloaded(c), first, c_type == DType::f32 ? 0x1p-18 : 0x1p-8);
    }
  }
}

}  // namespace
}  // namespace weft::testing
