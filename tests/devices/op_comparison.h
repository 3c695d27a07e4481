// tests/devices/op_comparison.h: runs an op with the same arguments on CPU and GPU and compares the results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tensor/half.h"
#include "tests/devices/random_arguments.h"
#include "tests/support/compare.h"
#include "tests/tensor/on_device.h"

namespace weft::testing {

// The i-th element after t's first, in memory order.
inline double element(const Tensor& t, const std::byte* bytes, size_t i) {
  const auto read = [&](auto zero) {
    std::memcpy(&zero, bytes + i * sizeof(zero), sizeof(zero));
    return zero;
  };
  switch (t.dtype) {
    case DType::f32:
      return read(float());
    case DType::bf16:
      return to_float(read(BFloat16()));
    case DType::f16:
      return to_float(read(Float16()));
    case DType::f64:
      return read(double());
    case DType::i32:
      return read(int32_t());
    case DType::i8:
      return read(int8_t());
  }
  return std::numeric_limits<double>::quiet_NaN();
}

inline double unit_of(DType t) {  // the relative spacing of neighbours
  return t == DType::bf16 ? 0x1p-7 : t == DType::f16 ? 0x1p-10 : t == DType::f32 ? 0x1p-23 : 0;
}

// Allowed difference between an op's results on two devices. Both compute in f32, so sums differ by up to
// `sums` (see tolerance() in compare.h), and stored values may be rounded to neighbours, `units` of spacing
// apart. If matmul operands are rounded, results are compared in norm.
struct Agreement {
  double sums = tolerance(1);
  double units = 1;
  double in_norm = 0;          // > 0: for half-precision tensors, relative
  bool dropped_alike = false;  // exact zeros must be the same on both devices
};

class OpComparison {
 public:
  OpComparison(Context& cpu, Context& gpu) : cpu_(cpu), gpu_(gpu) {}

  template <typename Arguments>
  void expect_same(void (*op)(Context&, const Arguments&), Arguments a, const Agreement& agreement = {}) {
    const OpPointers pointers(a);
    const std::vector<Tensor*>& all = pointers.tensors;
    const std::vector<Bytes> before = contents(all);
    op(cpu_, a);
    const std::vector<Bytes> want = contents(all);
    for (size_t i = 0; i < all.size(); ++i) std::copy(before[i].begin(), before[i].end(), bytes_at(*all[i]));
    run_on_device(gpu_, a, op);
    const std::vector<Bytes> got = contents(all);
    for (size_t i = 0; i < all.size() && !::testing::Test::HasFatalFailure(); ++i) {
      SCOPED_TRACE("tensor " + std::to_string(i) + " of the arguments");
      if (std::ranges::find(pointers.scratch, all[i]) == pointers.scratch.end())
        compare(*all[i], got[i], want[i], agreement);
    }
  }
  Context& cpu() { return cpu_; }

 private:
  using Bytes = std::vector<std::byte>;
  static std::byte* bytes_at(const Tensor& t) { return static_cast<std::byte*>(t.data); }
  static std::vector<Bytes> contents(const std::vector<Tensor*>& all) {
    std::vector<Bytes> bytes;
    for (const Tensor* t : all) bytes.emplace_back(bytes_at(*t), bytes_at(*t) + extent(*t));
    return bytes;
  }
  static void compare(const Tensor& t, const Bytes& got, const Bytes& want, const Agreement& agreement) {
    const size_t size = size_of(t.dtype), cols = t.empty() ? 1 : static_cast<size_t>(t.cols());
    const size_t stride = t.rank() == 2 ? static_cast<size_t>(t.row_stride) : cols;
    std::vector<double> all_got, all_want;
    for (size_t i = 0; i * size < want.size(); ++i) {
      if (stride > 0 && i % stride >= cols) {  // between the rows of a column slice
        ASSERT_EQ(std::memcmp(got.data() + i * size, want.data() + i * size, size), 0) << "beside row " << i / stride;
        continue;
      }
      all_got.push_back(element(t, got.data(), i)), all_want.push_back(element(t, want.data(), i));
    }
    const bool halves = t.dtype == DType::bf16 || t.dtype == DType::f16;
    if (halves && agreement.in_norm > 0)  // cancelling sums keep the rounding of their terms
      return expect_close_in_norm(all_got, all_want, agreement.in_norm, /*floor=*/2);
    for (size_t i = 0; i < all_want.size(); ++i) {
      const double g = all_got[i], w = all_want[i];
      if (g == w || (std::isnan(g) && std::isnan(w))) continue;  // also infinities
      const double allowed =
          t.dtype == DType::i32 ? 0 : agreement.units * unit_of(t.dtype) * std::max(std::abs(w), 1e-3) + agreement.sums;
      ASSERT_LE(std::abs(g - w), allowed) << "element " << i << ": " << g << " instead of " << w;
      if (agreement.dropped_alike) {
        ASSERT_EQ(g == 0, w == 0) << "element " << i;
      }
    }
  }

  Context &cpu_, &gpu_;
};

struct OpCase {
  const char* op;
  void (*run)(RandomArguments& r, OpComparison& devices);
};
inline std::string name_of(const ::testing::TestParamInfo<OpCase>& info) { return info.param.op; }

inline void compare_on_many_arguments(const OpCase& c) {
  constexpr uint64_t kDraws = 12;
  Context cpu(Device::cpu), gpu(Device::cuda);
  OpComparison devices(cpu, gpu);
  for (const DType storage : {DType::f32, DType::bf16, DType::f16}) {
    for (uint64_t seed = 1; seed <= kDraws; ++seed) {
      SCOPED_TRACE(std::string(c.op) + " in " + weft::name_of(storage) + ", seed " + std::to_string(seed));
      RandomArguments r(seed, storage);
      c.run(r, devices);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace weft::testing
