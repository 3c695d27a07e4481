// data/strict_json.cpp: limits depth and refuses duplicate keys in the parser's callback.
#include "data/strict_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace weft {

using nlohmann::json;

json parse_strict_json(std::string_view text, const std::string& what, ErrorKind kind) {
  constexpr int kMaxDepth = 64;
  constexpr size_t kMaxOfParser = 200;              // max bytes of the parser's message, which quotes the text
  std::vector<std::set<std::string>> open_objects;  // the keys seen so far, innermost last
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth) fail(kind, fmt::format("{}: the JSON is nested too deeply", what));
    if (event == json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == json::parse_event_t::object_end) open_objects.pop_back();
    if (event == json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second)
      fail(kind, fmt::format("{}: the key '{}' occurs twice in an object", what, printable(parsed.get<std::string>())));
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), check);
  } catch (const json::exception& e) {
    fail(kind, fmt::format("{} is not valid JSON: {}", what, printable(e.what(), kMaxOfParser)));
  }
}

void require_whole_number(const json& value, const std::string& name, const std::string& what, ErrorKind kind) {
  if (!value.is_number_integer())
    fail(kind, fmt::format("{}: {} is {}, not a whole number", what, name, printable(value.dump())));
}

}  // namespace weft
