// trainer/checkpoint/strict_json.h: JSON from files that may be damaged or made by others: parsed with limits, errors
// in one line.
//
// On top of the grammar: at most 64 levels deep, no key twice in an object. Every failure is an Error of kind
// checkpoint that begins with `what` (a path).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace weft {

nlohmann::json parse_strict_json(std::string_view text, const std::string& what);

}  // namespace weft
