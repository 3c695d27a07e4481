// tests/support/without_cuda.h: hides the CUDA backend during the lifetime of an object.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace weft::testing {

class WithoutCuda {
 public:
  WithoutCuda() { setenv(kVariable, "libno_such_backend.so", 1); }
  ~WithoutCuda() { kept_ ? setenv(kVariable, kept_->c_str(), 1) : unsetenv(kVariable); }
  WithoutCuda(const WithoutCuda&) = delete;
  WithoutCuda& operator=(const WithoutCuda&) = delete;

 private:
  static constexpr const char* kVariable = "WEFT_CUDA_MODULE";
  static std::optional<std::string> current() {
    const char* name = std::getenv(kVariable);
    return name ? std::optional<std::string>(name) : std::nullopt;
  }
  std::optional<std::string> kept_ = current();
};

}  // namespace weft::testing
