// tensor/enum_names.h: names the enum values that users can choose. Next to each such enum is a list of its names:
//   constexpr EnumNames<Tying, 3> enum_names(Tying) { return {{{"none", Tying::none}, ...}}; }
#pragma once

#include <array>
#include <string>
#include <utility>

namespace weft {

template <typename E, size_t N>
using EnumNames = std::array<std::pair<const char*, E>, N>;

template <typename E>
constexpr const char* name_of_enum(E value) {
  for (const auto& [name, candidate] : enum_names(E{}))
    if (value == candidate) return name;
  return "?";  // a value without a name; enum_names_test.cpp checks that there is none
}

template <typename E>
std::string joined_enum_names() {
  std::string all;
  for (const auto& [name, value] : enum_names(E{})) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

}  // namespace weft
