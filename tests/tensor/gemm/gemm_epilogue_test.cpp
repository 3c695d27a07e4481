// tests/tensor/gemm/gemm_epilogue_test.cpp: GEMM epilogues compared with loops in double: activations, their
// gradients from saved values, bias gradients.
#include "tensor/half.h"
#include "tests/support/definition/activation_value.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

using Kind = ops::Epilogue::Kind;

// Bounds of the activations' first derivative, and of the smooth ones' second derivative.
constexpr double kSteepest = 1.13, kBend = 0.8;

struct Storages {
  DType ab, c;
};
constexpr Storages kStorages[] = {
    {DType::f32, DType::f32}, {DType::bf16, DType::bf16}, {DType::f16, DType::f16}, {DType::bf16, DType::f32}};

double unit_roundoff(DType t) { return t == DType::bf16 ? 0x1p-8 : t == DType::f16 ? 0x1p-11 : 0x1p-24; }
double sum_rounding(int64_t k) {  // of dot products of k numbers up to 1
  return 0x1p-23 * static_cast<double>(k + 2) * (1 + std::sqrt(static_cast<double>(k)));
}

class GemmEpilogue : public ::testing::Test {
 protected:
  // Fresh memory filled with NaN; with `apart`, a column slice whose rows are not aligned.
  Tensor fresh(int64_t rows, int64_t cols, DType t, bool apart = false) {
    const int64_t wide = apart ? cols + 5 : cols;
    buffers_.emplace_back(static_cast<size_t>(rows * wide) * size_of(t) + 64);
    std::memset(buffers_.back().data(), 0xFF, buffers_.back().bytes());
    return buffers_.back().tensor({rows, wide}, t).slice_cols(apart ? 3 : 0, cols);
  }
  Tensor random(int64_t rows, int64_t cols, DType dtype, bool apart = false) {  // in (-1, 1]
    const Tensor t = fresh(rows, cols, dtype, apart);
    ++sequence_;
    for_storage(dtype, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < t.numel(); ++i) {
        const uint32_t bits = random_bits(7, static_cast<uint64_t>(i), sequence_, 0);
        t.ptr<T>()[i / cols * t.row_stride + i % cols] = from_float<T>(2 * uniform_from_bits(bits) - 1);
      }
    });
    return t;
  }
  Tensor random_vector(int64_t n) { return random(1, n, DType::f32).with_shape({n}); }
  // The saved values for [m, n] inputs whose activation is written to c.
  Tensor room_to_save(Activation activation, const Tensor& c) {
    const int64_t numel = ops::saved_numel(w_.ctx.device(), activation, c.dtype, c.rows(), c.cols());
    return numel > 0 ? fresh(1, numel, c.dtype).with_shape({numel}) : c;
  }
  static Doubles doubles(const Tensor& t) {
    return for_storage(t.dtype, [&](auto zero) {
      Doubles all;
      for (const auto x : values<decltype(zero)>(t)) all.push_back(to_float(x));
      return all;
    });
  }
  // a b, or a^T b.
  static Doubles product(const Tensor& a, const Tensor& b, bool trans_a = false) {
    const Doubles x = doubles(a), y = doubles(b);
    const auto m = static_cast<size_t>(trans_a ? a.cols() : a.rows()), k = static_cast<size_t>(b.rows());
    const auto n = static_cast<size_t>(b.cols());
    Doubles sums(m * n);
    for (size_t i = 0; i < m; ++i)
      for (size_t p = 0; p < k; ++p)
        for (size_t j = 0; j < n; ++j) sums[i * n + j] += (trans_a ? x[p * m + i] : x[i * k + p]) * y[p * n + j];
    return sums;
  }

  // c = act(a b + bias); x gets the sums, x_rounding the bounds of their rounding errors.
  struct Inputs {
    Tensor c, saved;
    Doubles x, x_rounding;
  };
  Inputs activated(Activation activation, const Storages& types, int64_t m, int64_t n, int64_t k, bool has_bias,
                   bool saves, bool apart) {
    buffers_.clear();
    const Tensor a = random(m, k, types.ab, apart), b = random(k, n, types.ab), c = fresh(m, n, types.c, apart);
    const Tensor bias = has_bias ? random_vector(n) : Tensor(), saved = saves ? room_to_save(activation, c) : Tensor();
    ops::gemm(w_.ctx, {.a = a, .b = b, .c = c, .bias = bias, .epilogue = {Kind::activate, activation, saved}});
    Inputs all{c, saved, product(a, b), {}};
    for (size_t i = 0; i < all.x.size(); ++i) {
      const double added = has_bias ? bias.ptr<float>()[i % static_cast<size_t>(n)] : 0, alone = std::abs(all.x[i]);
      all.x[i] += added;
      all.x_rounding.push_back(unit_roundoff(types.c) * (alone + std::abs(added) + std::abs(all.x[i])) +
                               sum_rounding(k));
    }
    return all;
  }

  Workspace w_;
  std::vector<Buffer> buffers_;
  uint32_t sequence_ = 0;
};

struct Sizes {
  int64_t m, n, k, depth;  // depth: inner dimension of the GEMM whose gradient is computed
};
constexpr Sizes kSizes[] = {{1, 1, 1, 1},     {5, 9, 1, 7},      {7, 33, 5, 1},
                            {24, 40, 32, 48}, {33, 130, 64, 24}, {9, 520, 3, 9}};

TEST_F(GemmEpilogue, ActivatesTheSumWithItsBias) {
  for (const auto& [name, activation] : enum_names(Activation{})) {
    for (const Storages& types : kStorages) {
      for (const auto& [m, n, k, depth] : kSizes) {
        for (int variant = 0; variant < 8; ++variant) {
          SCOPED_TRACE(fmt::format("activation {} {} to {} [{}, {}, {}] variant {}", static_cast<int>(activation),
                                   name_of(types.ab), name_of(types.c), m, n, k, variant));
          const Inputs in =
              activated(activation, types, m, n, k, (variant & 1) != 0, (variant & 2) != 0, (variant & 4) != 0);
          const Doubles got = doubles(in.c);
          for (size_t i = 0; i < got.size(); ++i) {
            const double want = activation_value(activation, in.x[i]);
            const double allowed = kSteepest * in.x_rounding[i] + unit_roundoff(types.c) * std::abs(want);
            ASSERT_NEAR(got[i], want, allowed) << "element " << i;
          }
        }
      }
    }
  }
}

// Whichever kernel computes each of the two GEMMs, the second reads the first one's saved values.
TEST_F(GemmEpilogue, MultipliesAProductByTheDerivative) {
  for (const auto& [name, activation] : enum_names(Activation{})) {
    for (const Storages& types : kStorages) {
      for (const auto& [m, n, k, depth] : kSizes) {
        for (int variant = 0; variant < 4; ++variant) {
          SCOPED_TRACE(fmt::format("activation {} {} to {} [{}, {}, {}] of depth {}, variant {}",
                                   static_cast<int>(activation), name_of(types.ab), name_of(types.c), m, n, k, depth,
                                   variant));
          const Inputs in = activated(activation, types, m, n, k, /*has_bias=*/true, /*saves=*/true, variant % 2 == 1);
          const Tensor d_y = random(m, depth, types.ab, variant >= 2), weight = random(depth, n, types.ab);
          const Tensor d_x = fresh(m, n, types.c, variant >= 2);
          ops::gemm(w_.ctx, {.a = d_y, .b = weight, .c = d_x, .epilogue = {Kind::differentiate, activation, in.saved}});
          const Doubles got = doubles(d_x), sums = product(d_y, weight);
          for (size_t i = 0; i < got.size(); ++i) {
            if (activation == Activation::relu && std::abs(in.x[i]) <= in.x_rounding[i]) continue;  // unknown sign
            const double slope = activation_derivative(activation, in.x[i]), want = sums[i] * slope;
            const double bend = activation == Activation::relu ? 0 : kBend * in.x_rounding[i];
            const double allowed = unit_roundoff(types.c) * (std::abs(want) + kSteepest * std::abs(sums[i])) +
                                   std::abs(sums[i]) * bend + kSteepest * sum_rounding(depth);
            ASSERT_NEAR(got[i], want, allowed) << "element " << i;
          }
        }
      }
    }
  }
}

TEST_F(GemmEpilogue, AddsTheGradientOfABiasToWhatIsThere) {
  for (const DType storage : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [rows, out, in] :
         {std::array<int64_t, 3>{1, 1, 1}, {1, 8, 4}, {7, 1, 5}, {33, 17, 9}, {64, 48, 32}, {300, 24, 16}}) {
      for (const bool apart : {false, true}) {
        SCOPED_TRACE(fmt::format("{} rows, {} by {} in {}, apart {}", rows, out, in, name_of(storage), apart));
        const Tensor d_y = random(rows, out, storage, apart), x = random(rows, in, storage);
        const Tensor d_weight = w_.filled({out, in}, 2), d_bias = w_.filled({out}, 3);
        ops::gemm(w_.ctx, {.a = d_y, .b = x, .c = d_weight, .trans_a = true, .accumulate = true, .d_bias = d_bias});
        Doubles want = product(d_y, x, /*trans_a=*/true), want_bias(static_cast<size_t>(out), 3);
        for (double& sum : want) sum += 2;
        const Doubles terms = doubles(d_y);
        for (size_t i = 0; i < terms.size(); ++i) want_bias[i % want_bias.size()] += terms[i];
        expect_close(d_weight, want, tolerance(rows), "the weight's gradient");
        expect_close(d_bias, want_bias, tolerance(rows), "the bias's");
      }
    }
  }
}

TEST_F(GemmEpilogue, IsTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace& w) {
    std::string all;
    const Tensor a = w.random({48, 64}), b = w.random({64, 56}), d_bias = w.zeros({64});
    for (const auto& [name, activation] : enum_names(Activation{})) {
      const Tensor c = w.nans({48, 56}), d = w.nans({48, 56});
      const int64_t numel = ops::saved_numel(w.ctx.device(), activation, DType::f32, 48, 56);
      const Tensor saved = numel > 0 ? w.nans({numel}) : c;
      ops::gemm(w.ctx, {.a = a, .b = b, .c = c, .epilogue = {Kind::activate, activation, saved}});
      ops::gemm(w.ctx, {.a = a, .b = b, .c = d, .epilogue = {Kind::differentiate, activation, saved}});
      all += bytes_of(c) + bytes_of(d);
    }
    ops::gemm(w.ctx, {.a = a, .b = w.random({48, 8}), .c = w.zeros({64, 8}), .trans_a = true, .d_bias = d_bias});
    return all + bytes_of(d_bias);
  });
}

// On a CPU an epilogue equals a separate op bit for bit.
TEST_F(GemmEpilogue, IsThePassesOfTheCpu) {
  for (const DType storage : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [name, activation] : enum_names(Activation{})) {
      const Tensor a = random(37, 64, storage), b = random(64, 90, storage), bias = random_vector(90);
      const Tensor x = fresh(37, 90, storage), y = fresh(37, 90, storage), d_x = fresh(37, 90, storage);
      const Tensor c = fresh(37, 90, storage), d = fresh(37, 90, storage), saved = room_to_save(activation, c);
      ops::gemm(w_.ctx, {.a = a, .b = b, .c = x, .bias = bias});
      ops::activation_forward(w_.ctx, {.x = x, .y = y, .kind = activation});
      ops::gemm(w_.ctx, {.a = a, .b = b, .c = d_x});
      ops::activation_backward(w_.ctx, {.x = x, .y = y, .d_y = d_x, .d_x = d_x, .kind = activation});
      ops::gemm(w_.ctx, {.a = a, .b = b, .c = c, .bias = bias, .epilogue = {Kind::activate, activation, saved}});
      ops::gemm(w_.ctx, {.a = a, .b = b, .c = d, .epilogue = {Kind::differentiate, activation, saved}});
      EXPECT_EQ(doubles(c), doubles(y)) << name_of(storage);
      EXPECT_EQ(doubles(d), doubles(d_x)) << name_of(storage);
    }
  }
}

}  // namespace
}  // namespace weft::testing
