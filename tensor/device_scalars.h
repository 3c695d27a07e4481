// tensor/device_scalars.h: stores the StepScalars of one rank on the device that reads them.
#pragma once

#include "tensor/memory.h"
#include "tensor/op/step_scalars.h"
#include "tensor/transfer.h"

namespace weft {

class DeviceScalars {
 public:
  explicit DeviceScalars(Device device) : buffer_(sizeof(StepScalars), device) {}
  const StepScalars* get() const { return static_cast<const StepScalars*>(buffer_.data()); }
  // Enqueues a copy, so ops that were enqueued earlier still read the old values.
  void set(Context& ctx, const StepScalars& values) const {
    upload(ctx, &values, buffer_.tensor({sizeof(StepScalars) / sizeof(int32_t)}, DType::i32));
  }

 private:
  Buffer buffer_;
};

}  // namespace weft
