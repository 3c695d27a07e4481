// trainer/version.h: the version that signatures and files carry; the same as CMakeLists.txt says (a test compares).
#pragma once

namespace weft {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace weft
