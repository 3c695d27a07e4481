// trainer/import/marian/yaml.cpp: turns nodes of yaml-cpp into JSON.
#include "trainer/import/marian/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {
namespace {

using nlohmann::json;

template <typename T>
bool is_all(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end && !text.empty();
}

json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() != "?") return text;  // quoted
  if (text == "true" || text == "false") return text == "true";
  if (text == "null" || text == "~") return nullptr;
  if (int64_t whole = 0; is_all(text, whole)) return whole;
  if (double number = 0; text.find_first_of("0123456789") != std::string::npos && is_all(text, number)) return number;
  return text;
}

json value_of(const YAML::Node& node) {
  if (node.IsScalar()) return scalar(node);
  if (!node.IsSequence()) return nullptr;
  json list = json::array();
  for (const YAML::Node& item : node) {
    if (!item.IsScalar()) return nullptr;
    list.push_back(scalar(item));
  }
  return list;
}

}  // namespace

json parse_yaml(const std::string& text, const std::string& what) {
  if (find_invalid_utf8(text) != std::string::npos)
    fail(ErrorKind::checkpoint, fmt::format("{}: the text is not valid UTF-8", what));
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) fail(ErrorKind::checkpoint, fmt::format("{}: the text is not a YAML mapping", what));
    json object = json::object();
    for (const auto& entry : root) {
      const auto name = entry.first.as<std::string>();  // "null" for the keys ~ and null, as in Marian
      if (object.contains(name))
        fail(ErrorKind::checkpoint, fmt::format("{}: the key '{}' occurs twice", what, printable(name)));
      object[name] = value_of(entry.second);
    }
    return object;
  } catch (const YAML::Exception& error) {
    fail(ErrorKind::checkpoint, fmt::format("{}: {}", what, printable(error.what())));
  }
}

}  // namespace weft
