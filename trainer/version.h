// trainer/version.h: the version in signatures and files; a test checks that CMakeLists.txt contains the same.
#pragma once

namespace weft {

inline constexpr char kVersion[] = "0.2.0";

}  // namespace weft
