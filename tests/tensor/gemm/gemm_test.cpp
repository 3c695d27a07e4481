// tests/tensor/gemm/gemm_test.cpp: GEMMs compared with triple loops in double: transposes, slices, bias,
// accumulation.
#include <thread>

#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

struct GemmCase {
  int64_t m, n, k;
  bool trans_a, trans_b, bias, accumulate;
};

Doubles reference(const GemmCase& t, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& c) {
  const Doubles x = to_doubles(a), y = to_doubles(b), z = to_doubles(c);
  Doubles out;
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) {
      double sum = t.bias ? bias.ptr<float>()[j] : 0.0;
      if (t.accumulate) sum += z[static_cast<size_t>(i * t.n + j)];
      for (int64_t p = 0; p < t.k; ++p) {
        sum += x[static_cast<size_t>(t.trans_a ? p * t.m + i : i * t.k + p)] *
               y[static_cast<size_t>(t.trans_b ? j * t.k + p : p * t.n + j)];
      }
      out.push_back(sum);
    }
  }
  return out;
}

TEST(Gemm, MatchesLoopsForEveryVariantAndAwkwardShapes) {
  Workspace w;
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{1, 1, 1}, {1, 9, 5}, {7, 1, 3}, {6, 5, 1}, {33, 17, 29}, {64, 48, 80}}) {
    for (int variant = 0; variant < 16; ++variant) {
      const GemmCase t{m, n, k, (variant & 1) != 0, (variant & 2) != 0, (variant & 4) != 0, (variant & 8) != 0};
      const Tensor a = t.trans_a ? w.random_slice(k, m) : w.random_slice(m, k);
      const Tensor b = t.trans_b ? w.random_slice(n, k) : w.random_slice(k, n);
      const Tensor bias = t.bias ? w.random({n}) : Tensor();
      const Tensor c = t.accumulate ? w.random_slice(m, n) : w.nan_slice(m, n);
      const Doubles want = reference(t, a, b, bias, c);
      ops::gemm(w.ctx, {.a = a,
                        .b = b,
                        .c = c,
                        .trans_a = t.trans_a,
                        .trans_b = t.trans_b,
                        .bias = bias,
                        .accumulate = t.accumulate});
      expect_close(c, want, tolerance(k, 0.5), "gemm");
    }
  }
}

TEST(Gemm, WritesNothingOutsideItsSlice) {
  Workspace w;
  const Tensor wide = w.filled({5, 12}, 7);
  ops::gemm(w.ctx, {.a = w.random({5, 4}), .b = w.random({4, 3}), .c = wide.slice_cols(6, 3)});
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t c = 0; c < 12; ++c) {
      const bool outside = c < 6 || c >= 9;
      EXPECT_EQ(wide.ptr<float>()[r * 12 + c] == 7.0f, outside) << r << ", " << c;
    }
  }
}

TEST(Gemm, GivesARowTheSameBitsWhateverTheOtherRows) {
  Workspace w;
  const Tensor a = w.random({160, 48}), b = w.random({100, 48}), all = w.nans({160, 100}), some = w.nans({160, 100});
  ops::gemm(w.ctx, {.a = a, .b = b, .c = all, .trans_b = true});
  for (int64_t first : {0, 7}) {
    for (int64_t m : {1, 2, 5, 16, 31, 80, 91, 150}) {
      ops::gemm(w.ctx, {.a = a.slice_rows(first, m), .b = b, .c = some.slice_rows(0, m), .trans_b = true});
      const bool is_same = bytes_of(some.slice_rows(0, m)) == bytes_of(all.slice_rows(first, m));
      EXPECT_TRUE(is_same) << m << " rows from row " << first;
    }
  }
}

std::string product(Workspace& w) {
  const Tensor a = w.random({150, 70}), b = w.random({70, 90}), c = w.random({150, 90});
  ops::gemm(w.ctx, {.a = a, .b = b, .c = c, .bias = w.random({90}), .accumulate = true});
  return bytes_of(c);
}

TEST(Gemm, IsTheSameOnAnyNumberOfThreads) { expect_same_on_any_threads(product); }

TEST(Gemm, RunsInSeveralThreadsAtOnce) {
  Workspace alone;
  const std::string want = product(alone);
  std::vector<std::string> got(3);
  std::vector<std::thread> threads;
  for (std::string& result : got) {
    threads.emplace_back([&result] {
      set_num_threads(1);
      for (int i = 0; i < 20; ++i) {
        Workspace w;
        result = product(w);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::string& result : got) EXPECT_TRUE(result == want);
}

}  // namespace
}  // namespace weft::testing
