// tests/support/device.h: the device that a test program runs on, and changes to values in its memory.
//
// The environment variable WEFT_TEST_DEVICE names it: cpu, which is the default, or cuda. The same test bodies run on
// both; tests/device_filters.txt says which tests have nothing to say about a GPU.
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

// Kernels on the emulated device (tests/emulation) take some hundred times as long as on the CPU or a GPU.
inline bool on_emulated_device() {
  static const bool emulated =
      test_device() == Device::cuda && device_properties(Device::cuda).name == "Emulated device";
  return emulated;
}

// What a test takes of its cases, steps or sentences: fewer there, so that it says the same in a second or two.
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

// change(values) of a tensor's values, wherever they lie.
template <typename Change>
void change(Context& ctx, const Tensor& t, const Change& change) {
  std::vector<float> values = to_host<float>(ctx, t);
  change(values);
  put(ctx, values, t);
}

}  // namespace weft::testing
