// trainer/version.h: defines the version in signatures and files. A test compares it with CMakeLists.txt.
#pragma once

namespace weft {

inline constexpr char kVersion[] = "0.2.0";

}  // namespace weft
