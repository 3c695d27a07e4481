// data/strict_json.cpp: limits the depth before parsing, and finds duplicate keys by counting, which costs little.
#include "data/strict_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace weft {

using nlohmann::json;

namespace {

struct Shape {  // of a JSON text
  int64_t depth = 0, keys = 0;
};

Shape shape_of(std::string_view text) {
  Shape shape;
  int64_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      i += c == '\\';  // skips the character after it, which may be a quote
    } else if (c == '[' || c == '{') {
      shape.depth = std::max(shape.depth, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ':') {
      ++shape.keys;
    }
  }
  return shape;
}

int64_t num_keys(const json& value) {  // of all objects in it; of two equal keys, an object has one
  int64_t keys = value.is_object() ? std::ssize(value) : 0;
  if (value.is_structured())
    for (const json& inner : value) keys += num_keys(inner);
  return keys;
}

std::string duplicate_key(std::string_view text) {
  std::string duplicate;
  std::vector<std::set<std::string>> open_objects;  // the keys seen so far, innermost last
  const auto check = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == json::parse_event_t::object_end) open_objects.pop_back();
    if (event == json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second)
      duplicate = parsed.get<std::string>();
    return true;
  };
  [[maybe_unused]] const json all = json::parse(text, check);
  return duplicate;
}

}  // namespace

json parse_strict_json(std::string_view text, const std::string& what, ErrorKind kind) {
  constexpr int kMaxDepth = 64;
  constexpr size_t kMaxOfParser = 200;  // max bytes of the parser's message, which quotes the text
  const Shape shape = shape_of(text);
  if (shape.depth > kMaxDepth) fail(kind, fmt::format("{}: the JSON is nested too deeply", what));
  json value;
  try {
    value = json::parse(text);
  } catch (const json::exception& e) {
    fail(kind, fmt::format("{} is not valid JSON: {}", what, printable(e.what(), kMaxOfParser)));
  }
  if (num_keys(value) != shape.keys)
    fail(kind, fmt::format("{}: the key '{}' occurs twice in an object", what, printable(duplicate_key(text))));
  return value;
}

void require_whole_number(const json& value, const std::string& name, const std::string& what, ErrorKind kind) {
  if (!value.is_number_integer())
    fail(kind, fmt::format("{}: {} is {}, not a whole number", what, name, printable(value.dump())));
}

}  // namespace weft
