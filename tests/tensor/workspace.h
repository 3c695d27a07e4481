// tests/tensor/workspace.h: a context of the device under test, and host tensors for testing ops: random,
// given, uninitialised, column slices. ops::gemm(...) and the others copy them to the device and back
// (on_device.h).
#pragma once

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tensor/memory.h"
#include "tensor/op/sorted_ids.h"
#include "tensor/ops.h"
#include "tests/support/compare.h"
#include "tests/support/definition/gradient_check.h"
#include "tests/support/device.h"
#include "tests/tensor/on_device.h"

namespace weft::testing {

class Workspace {
 public:
  Context ctx{test_device()};

  Tensor nans(Shape shape) { return filled(shape, std::numeric_limits<float>::quiet_NaN()); }
  Tensor zeros(Shape shape) { return filled(shape, 0.0f); }
  Tensor filled(Shape shape, float value) {
    const Tensor t = arena_.tensor(shape);
    std::fill_n(t.ptr<float>(), t.numel(), value);
    return t;
  }
  Tensor random(Shape shape, float scale = 1) {  // uniform in (-scale, scale], another sequence each call
    const Tensor t = arena_.tensor(shape);
    ++sequence_;
    for (int64_t i = 0; i < t.numel(); ++i) {
      t.ptr<float>()[i] = scale * (2 * uniform_from_bits(random_bits(7, static_cast<uint64_t>(i), sequence_, 0)) - 1);
    }
    return t;
  }
  // A matrix that is a column slice of a wider one full of NaN.
  Tensor random_slice(int64_t rows, int64_t cols) {
    const Tensor t = nans({rows, cols + 5}).slice_cols(3, cols), source = random({rows, cols});
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(source.ptr<float>() + r * cols, cols, t.ptr<float>() + r * t.row_stride);
    }
    return t;
  }
  Tensor nan_slice(int64_t rows, int64_t cols) { return nans({rows, cols + 5}).slice_cols(3, cols); }
  Tensor ints(const std::vector<int32_t>& v) {
    const Tensor t = arena_.tensor({static_cast<int64_t>(v.size())}, DType::i32);
    std::copy(v.begin(), v.end(), t.ptr<int32_t>());
    return t;
  }
  ops::SortedIds sorted(const std::vector<int32_t>& ids) { return ops::SortedIds(ints(ops::sort_ids(ids))); }
  Tensor copy(const Tensor& x) {  // contiguous
    const Tensor t = arena_.tensor(x.shape);
    const std::vector<float> v = values(x);
    std::copy(v.begin(), v.end(), t.ptr<float>());
    return t;
  }
  Tensor doubles(Shape shape) {
    const Tensor t = arena_.tensor(shape, DType::f64);
    std::fill_n(t.ptr<double>(), t.numel(), 0.0);
    return t;
  }

 private:
  Arena arena_{size_t{32} << 20};
  uint32_t sequence_ = 0;
};

inline Doubles to_doubles(const Tensor& t) {
  const std::vector<float> v = values(t);
  return {v.begin(), v.end()};
}

inline std::string bytes_of(const Tensor& t) {
  if (t.dtype == DType::f64) return {static_cast<const char*>(t.data), t.bytes()};
  const std::vector<float> v = values(t);
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)};
}

// `run` computes in a fresh workspace and returns the bytes of its results. They must not depend on the
// number of threads or, on a GPU, on the order of blocks and warps.
inline void expect_same_on_any_threads(const std::function<std::string(Workspace&)>& run) {
  const int kept = num_threads();
  std::vector<std::string> results;
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    Workspace w;
    results.push_back(run(w));
  }
  set_num_threads(kept);
  EXPECT_TRUE(results[0] == results[1]) << "1 and 2 threads differ";
  EXPECT_TRUE(results[0] == results[2]) << "1 and 3 threads differ";
}

inline constexpr StepScalars kTestScalars{.step = 5, .block = 2, .loss_scale = 0.5f};
inline constexpr Dropout kTestDropout{.rate = 0.3f,
                                      .seed = 99,
                                      .purpose = 2,
                                      .first = 13,
                                      .row_stride = 37,
                                      .block_stride = 1001,
                                      .scalars = &kTestScalars};

// The factor that a kept or dropped element is multiplied with, from random.h alone.
inline double dropout_factor(const Dropout& d, int64_t row, int64_t col) {
  if (d.rate <= 0) return 1;
  const DropoutMask mask = d.mask();
  return mask.keeps(mask.index(row, col)) ? static_cast<double>(mask.keep_scale()) : 0;
}

}  // namespace weft::testing
