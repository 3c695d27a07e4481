// tensor/device_sums.h: a few sums in double, kept on the device, that ops add to (ops::Sum,
// ops::SumSquares). Nothing waits until the host reads all of them.
#pragma once

#include "tensor/memory.h"
#include "tensor/ops.h"
#include "tensor/transfer.h"

namespace weft {

class DeviceSums {
 public:
  DeviceSums(int64_t count, Device device) : count_(count), buffer_(bytes(), device) {}

  // Sets the sums to 0. ops::fill lacks f64, but the bits of zero are the same in f32.
  void clear(Context& ctx) const { ops::fill(ctx, {.x = buffer_.tensor({2 * count_})}); }
  Tensor operator[](int64_t i) const {
    return buffer_.tensor({1}, DType::f64, static_cast<size_t>(i) * sizeof(double));
  }
  std::vector<double> read(Context& ctx) const {  // waits for the device
    return to_host<double>(ctx, buffer_.tensor({count_}, DType::f64));
  }

 private:
  size_t bytes() const { return static_cast<size_t>(count_) * sizeof(double); }

  int64_t count_;
  Buffer buffer_;
};

}  // namespace weft
