// tensor/device_sums.h: a few sums in double that ops add to (ops::Sum, ops::SumSquares) where the device keeps them.
// Nothing waits until the host reads them, all together.
#pragma once

#include "tensor/memory.h"
#include "tensor/ops.h"
#include "tensor/transfer.h"

namespace weft {

class DeviceSums {
 public:
  DeviceSums(int64_t count, Device device) : count_(count), buffer_(bytes(), device) {}

  // To 0. The bits of a zero are the same in f32, which ops::fill knows.
  void clear(Context& ctx) const { ops::fill(ctx, {.x = buffer_.tensor({2 * count_})}); }
  Tensor operator[](int64_t i) const {
    return buffer_.tensor({1}, DType::f64, static_cast<size_t>(i) * sizeof(double));
  }
  std::vector<double> read(Context& ctx) const {  // waits
    return to_host<double>(ctx, buffer_.tensor({count_}, DType::f64));
  }

 private:
  size_t bytes() const { return static_cast<size_t>(count_) * sizeof(double); }

  int64_t count_;
  Buffer buffer_;
};

}  // namespace weft
