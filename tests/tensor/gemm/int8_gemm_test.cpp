// tests/tensor/gemm/int8_gemm_test.cpp: int8 GEMMs have the same bits with the kernels of this processor and with loops
// that do what the instructions of other processors do, and are the quantized product as defined.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "tensor/context.h"
#include "tensor/cpu/gemm/gemm_int8.h"
#include "tensor/memory.h"
#include "tensor/op/quantize.h"
#include "tensor/random.h"
#include "tests/support/errors.h"

namespace weft::testing {
namespace {

using cpu::Int8Kernel;

// Tiles of AMX and their instructions, as Intel's manual defines them (volume 2, TILELOADD, TDPBUSD, TILESTORED).
struct EmulatedTiles {
  static constexpr bool kInRegisters = false;
  struct Tile {
    uint8_t bytes[16][64];
  };
  static inline thread_local Tile tiles[8];

  template <int kTile>
  static void zero() {
    std::memset(&tiles[kTile], 0, sizeof(Tile));
  }
  template <int kTile>
  static void load(const void* from, int64_t stride) {
    for (int r = 0; r < 16; ++r) std::memcpy(tiles[kTile].bytes[r], static_cast<const char*>(from) + r * stride, 64);
  }
  template <int kTile>
  static void store(void* to, int64_t stride) {
    for (int r = 0; r < 16; ++r) std::memcpy(static_cast<char*>(to) + r * stride, tiles[kTile].bytes[r], 64);
  }
  template <int kSum, int kA, int kB>
  static void add_products() {
    for (int m = 0; m < 16; ++m)
      for (int n = 0; n < 16; ++n) {
        int32_t sum;
        std::memcpy(&sum, &tiles[kSum].bytes[m][4 * n], 4);
        for (int k = 0; k < 16; ++k)
          for (int i = 0; i < 4; ++i)
            sum += tiles[kA].bytes[m][4 * k + i] * static_cast<int8_t>(tiles[kB].bytes[k][4 * n + i]);
        std::memcpy(&tiles[kSum].bytes[m][4 * n], &sum, 4);
      }
  }
};

template <int kColumns, bool kSaturates>
Int8Kernel int8_loops(const char* name) {
  return cpu::int8_kernel_of<cpu::PortableInstructions<kColumns, kSaturates>>(name);
}

std::vector<Int8Kernel> all_kernels() {
  std::vector<Int8Kernel> all(cpu::int8_kernels().begin(), cpu::int8_kernels().end());
  all.push_back(int8_loops<4, true>("loops like pmaddubsw of 16 bytes"));
  all.push_back(int8_loops<8, true>("loops like pmaddubsw of 32 bytes"));
  all.push_back(int8_loops<16, true>("loops like pmaddubsw of 64 bytes"));
  all.push_back(int8_loops<8, false>("loops like vpdpbusd of 32 bytes"));
  all.push_back(int8_loops<16, false>("loops like vpdpbusd of 64 bytes"));
  all.push_back(cpu::int8_tile_kernel_of<EmulatedTiles>("loops like tdpbusd"));
  return all;
}

struct Floats {
  int64_t rows, cols;
  std::vector<float> values;
  Floats(int64_t rows, int64_t cols, float value = 0)
      : rows(rows), cols(cols), values(static_cast<size_t>(rows * cols), value) {}
  static Floats random(int64_t rows, int64_t cols, uint32_t sequence) {
    Floats m(rows, cols);
    for (size_t i = 0; i < m.values.size(); ++i)
      m.values[i] = 2 * uniform_from_bits(random_bits(3, i, sequence, 0)) - 1;
    return m;
  }
  Tensor tensor() { return Tensor(values.data(), {rows, cols}); }
  float* row(int64_t r) { return values.data() + r * cols; }
};

struct Int8Problem {
  Floats x, w, bias;
  Int8Problem(int64_t m, int64_t n, int64_t k)
      : x(Floats::random(m, k, 1)), w(Floats::random(n, k, 2)), bias(Floats::random(1, n, 3)) {}
};

std::vector<float> int8_product(const Int8Kernel& kernel, Int8Problem& p) {
  const size_t bytes = static_cast<size_t>(cpu::int8_copy_bytes(kernel, p.w.cols, p.w.rows));
  const Buffer copy(bytes, Device::cpu);
  cpu::pack_int8(kernel, p.w.tensor(), copy.data());
  Floats y(p.x.rows, p.w.rows, std::numeric_limits<float>::quiet_NaN());
  ops::Weight weight = p.w.tensor();
  weight.inference = copy.tensor({static_cast<int64_t>(bytes)}, DType::i8);
  ops::Gemm gemm{.a = p.x.tensor(), .b = weight, .c = y.tensor(), .trans_b = true};
  gemm.bias = Tensor(p.bias.values.data(), {p.bias.cols});
  const Buffer scratch(cpu::int8_scratch_bytes(kernel, gemm), Device::cpu);
  cpu::gemm_int8(kernel, gemm, scratch.data());
  return y.values;
}

// The product by its definition: 64-bit sums, and one rounding for each operation.
std::vector<float> defined_product(Int8Problem& p) {
  std::vector<float> y;
  const auto depth = static_cast<size_t>(p.x.cols);
  std::vector<int8_t> q(depth);
  std::vector<int64_t> rounded(depth);
  for (int64_t i = 0; i < p.x.rows; ++i) {
    const float* x = p.x.row(i);
    float low = 0, high = 0;
    for (size_t c = 0; c < depth; ++c) low = std::min(low, x[c]), high = std::max(high, x[c]);
    const float range = high - low, inverse = range > 0 ? 126.0f / range : 0.0f, scale_of_row = range / 126.0f;
    for (size_t c = 0; c < depth; ++c) rounded[c] = std::llrint(x[c] * inverse);
    for (int64_t j = 0; j < p.w.rows; ++j) {
      const float scale = quantize_row(p.w.row(j), p.w.cols, q.data());
      int64_t sum = 0;
      for (size_t c = 0; c < depth; ++c) sum += rounded[c] * q[c];
      y.push_back(static_cast<float>(sum) * (scale_of_row * scale) + p.bias.values[static_cast<size_t>(j)]);
    }
  }
  return y;
}

void expect_same_bits(Int8Problem p) {
  const std::vector<float> want = defined_product(p);
  for (const Int8Kernel& kernel : all_kernels()) {
    const std::vector<float> got = int8_product(kernel, p);
    size_t differ = 0;
    for (size_t i = 0; i < want.size(); ++i) differ += std::memcmp(&got[i], &want[i], sizeof(float)) != 0 ? 1 : 0;
    EXPECT_EQ(differ, 0u) << kernel.name << fmt::format(" of [{}, {}, {}]", p.x.rows, p.w.rows, p.x.cols);
  }
}

TEST(Int8Gemm, HasTheBitsOfItsDefinitionWithTheInstructionsOfEveryProcessor) {
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{1, 1, 1}, {1, 1, 2}, {3, 47, 30}, {8, 48, 64}, {9, 97, 65}, {71, 160, 130}, {33, 64, 7}})
    expect_same_bits(Int8Problem(m, n, k));
}

TEST(Int8Gemm, HasTheBitsOfItsDefinitionForAnyNumberOfRowsAndColumns) {
  for (int64_t m = 1; m <= 34; ++m) expect_same_bits(Int8Problem(m, 41, 12));
  for (int64_t n = 1; n <= 100; n += 3) expect_same_bits(Int8Problem(5, n, 12));
}

// The largest products of all depths, of either sign, must not saturate.
TEST(Int8Gemm, SumsTheLargestProductsExactly) {
  for (const float sign : {1.0f, -1.0f}) {
    Int8Problem p(2, 5, 4096);
    std::ranges::fill(p.x.values, 3.0f);
    p.x.row(1)[7] = -0.01f;  // so that 3 becomes 127
    std::ranges::fill(p.w.values, sign * 0.7f);
    expect_same_bits(p);
  }
}

TEST(Int8Gemm, IsCloseToTheProductOfFloats) {
  Int8Problem p(20, 30, 512);
  const std::vector<float> y = int8_product(cpu::int8_kernels().front(), p);
  double error = 0, square = 0;
  for (int64_t i = 0; i < p.x.rows; ++i)
    for (int64_t j = 0; j < p.w.rows; ++j) {
      double sum = p.bias.values[static_cast<size_t>(j)];
      for (int64_t c = 0; c < p.x.cols; ++c) sum += static_cast<double>(p.x.row(i)[c]) * p.w.row(j)[c];
      error += std::pow(y[static_cast<size_t>(i * p.w.rows + j)] - sum, 2), square += sum * sum;
    }
  // The standard deviation of a rounding error is 0.29 steps, which is 0.8 % of the activations' and 0.4 % of the
  // weights', whose steps are 2 / 126 and 1 / 127.
  EXPECT_LT(std::sqrt(error / square), 0.01);
}

TEST(Int8Gemm, ShowsActivationsThatAreNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {kInfinity, -kInfinity, kNan, -kNan})
    for (const int64_t count : {1, 30}) {
      Int8Problem p(3, 20, 30);
      std::fill_n(p.x.row(1) + (count == 1 ? 4 : 0), count, bad);
      for (const Int8Kernel& kernel : all_kernels()) {
        const std::vector<float> y = int8_product(kernel, p);
        for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isfinite(y[i]), i / 20 != 1) << kernel.name << " " << i;
      }
    }
}

TEST(Int8Gemm, RefusesSumsThatMayNotFitInto32Bits) {
  expect_error([] { ops::inference_numel(Device::cpu, DType::i8, cpu::kLongestInt8Sum + 1, 8); }, ErrorKind::usage,
               {"65537 columns", "65536", "--precision f32"});
}

TEST(Int8Gemm, GivesOnlyTheBiasForRowsOfZeros) {
  Int8Problem p(2, 20, 30);
  std::fill_n(p.x.row(1), 30, 0.0f);
  const std::vector<float> y = int8_product(cpu::int8_kernels().front(), p);
  for (size_t j = 0; j < 20; ++j) EXPECT_EQ(y[20 + j], p.bias.values[j]);
}

TEST(Int8Gemm, IsTheSameOnAnyNumberOfThreads) {
  for (const Int8Kernel& kernel : all_kernels()) {
    Int8Problem p(90, 200, 100);
    std::optional<std::vector<float>> first;
    const int kept = num_threads();
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      const std::vector<float> y = int8_product(kernel, p);
      if (!first) first = y;
      EXPECT_EQ(y, *first) << kernel.name << " on " << threads << " threads";
    }
    set_num_threads(kept);
  }
}

TEST(Quantization, RoundsARowOfItsProductsToTheSameNumbers) {
  for (uint32_t sequence = 0; sequence < 50; ++sequence) {
    Floats row = Floats::random(1, 77, sequence);
    for (float& x : row.values) x *= std::exp2(static_cast<float>(sequence) - 25);
    std::vector<int8_t> q(77), again(77);
    const float scale = quantize_row(row.values.data(), 77, q.data());
    EXPECT_EQ(std::max(*std::ranges::max_element(q), static_cast<int8_t>(-*std::ranges::min_element(q))), kInt8Max);
    round_rows_to_int8(row.values.data(), 1, 77);
    for (size_t i = 0; i < q.size(); ++i) ASSERT_EQ(row.values[i], static_cast<double>(scale) * q[i]);
    EXPECT_EQ(quantize_row(row.values.data(), 77, again.data()), scale);
    EXPECT_EQ(again, q);
  }
}

TEST(Quantization, IsWithinHalfAStep) {
  Floats row = Floats::random(1, 1000, 9);
  std::vector<int8_t> q(1000);
  const float scale = quantize_row(row.values.data(), 1000, q.data());
  for (size_t i = 0; i < q.size(); ++i) EXPECT_NEAR(row.values[i], scale * q[i], scale * 0.502);
}

TEST(Quantization, HandlesRowsOfZerosAndValuesThatAreNotFinite) {
  std::vector<int8_t> q(3, 1);
  const std::vector<float> zeros(3), tiny(3, 1e-38f), just(3, 1.00001e-30f),
      bad{1, std::numeric_limits<float>::infinity(), 2};
  EXPECT_EQ(quantize_row(zeros.data(), 3, q.data()), 0.0f);
  EXPECT_EQ(q, std::vector<int8_t>(3));
  EXPECT_EQ(quantize_row(tiny.data(), 3, q.data()), 0.0f);
  const float scale = quantize_row(just.data(), 3, q.data());
  const std::vector<float> rounded(3, scale * q[0]);
  EXPECT_EQ(quantize_row(rounded.data(), 3, q.data()), scale) << "also near the threshold";
  EXPECT_TRUE(std::isnan(quantize_row(bad.data(), 3, q.data())));
  EXPECT_EQ(q, std::vector<int8_t>(3));
}

}  // namespace
}  // namespace weft::testing
