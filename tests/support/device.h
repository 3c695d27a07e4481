// tests/support/device.h: the device of a test program, and changes to values in its memory.
//
// The environment variable WEFT_TEST_DEVICE selects cpu (the default) or cuda. The same test bodies run on
// both; tests/device_filters.txt lists the tests that do not apply to a GPU.
#pragma once

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/transfer.h"

namespace weft::testing {

inline Device test_device() {
  const char* const chosen = std::getenv("WEFT_TEST_DEVICE");
  const std::string_view name = chosen == nullptr ? "cpu" : chosen;
  if (name != "cpu" && name != "cuda") fail(ErrorKind::usage, fmt::format("WEFT_TEST_DEVICE is {}: cpu or cuda", name));
  return name == "cuda" ? Device::cuda : Device::cpu;
}

// Kernels on the emulated device (tests/emulation) are some hundred times slower than on the CPU or a GPU.
inline bool on_emulated_device() {
  static const bool emulated =
      test_device() == Device::cuda && device_properties(Device::cuda).name == "Emulated device";
  return emulated;
}

// Number of cases, steps or sentences of a test: fewer on the emulated device, so that it takes a second or
// two.
template <typename T>
T all_or_few(T all, T few) {
  return on_emulated_device() ? std::move(few) : std::move(all);
}

template <typename T>
void put(Context& ctx, const std::vector<T>& values, const Tensor& to) {
  require(DTypeOf<T>::value == to.dtype && static_cast<int64_t>(values.size()) == to.numel(), ErrorKind::internal,
          "values of another type or number than the tensor's");
  upload(ctx, values.data(), to);
}

// Applies change(values) to a tensor's values on any device.
template <typename Change>
void change(Context& ctx, const Tensor& t, const Change& change) {
  std::vector<float> values = to_host<float>(ctx, t);
  change(values);
  put(ctx, values, t);
}

}  // namespace weft::testing
