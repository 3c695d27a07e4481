// tensor/device_sums.h: stores a few f64 sums on the device, to which ops::Sum and ops::SumSquares add. The host waits
// for the device only when it reads the sums.
#pragma once

#include "tensor/memory.h"
#include "tensor/ops.h"
#include "tensor/transfer.h"

namespace weft {

class DeviceSums {
 public:
  DeviceSums(int64_t count, Device device) : count_(count), buffer_(bytes(), device) {}

  // Sets the sums to 0. Because ops::fill lacks f64, the memory is filled as f32, where zero has the same bits.
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
