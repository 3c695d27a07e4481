// data/strict_json.h: parses JSON from untrusted or damaged files, with limits and one-line errors.
//
// All JSON that is read from a file goes through this parser; bytes between ranks do not. It accepts at most 64 levels of
// nesting, because nlohmann::json copies and compares values recursively, and refuses duplicate keys in an object. Every
// failure throws an Error of `kind` whose message starts with `what` (a path).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tensor/error.h"

namespace weft {

nlohmann::json parse_strict_json(std::string_view text, const std::string& what, ErrorKind kind);

// Fails unless `value` is an integer; the message calls it `name`. (get() cuts off fractions and overflows on 1e74.)
void require_whole_number(const nlohmann::json& value, const std::string& name, const std::string& what,
                          ErrorKind kind);

}  // namespace weft
