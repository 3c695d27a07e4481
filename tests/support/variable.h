// tests/support/variable.h: an environment variable that is set or absent for a while.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace weft::testing {

class Variable {
 public:
  explicit Variable(const char* name, const char* value = nullptr) : name_(name) {  // nullptr: absent
    if (const char* const before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) { value != nullptr ? setenv(name_, value, 1) : unsetenv(name_); }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace weft::testing
