// tests/support/draw.h: random choices, a pure function of a seed and of what they are for.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "tensor/random.h"

namespace weft::testing {

class Draw {
 public:
  Draw(uint64_t seed, std::string_view purpose) : seed_(seed), purpose_(purpose_of(purpose)) {}

  uint32_t bits() { return random_bits(seed_, next_++, 0, purpose_); }
  int64_t from(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(bits() % static_cast<uint64_t>(most - least + 1));
  }
  bool coin() { return from(0, 1) == 1; }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[from(0, static_cast<int64_t>(values.size()) - 1)];
  }
  template <typename E>
  E one_of_enum() {
    const auto all = enum_names(E());
    return all[static_cast<size_t>(from(0, all.size() - 1))].second;
  }

 private:
  uint64_t seed_, next_ = 0;
  uint32_t purpose_;
};

}  // namespace weft::testing
