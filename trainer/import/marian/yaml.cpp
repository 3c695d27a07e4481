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

class YamlReader {
 public:
  YamlReader(const std::string& what, size_t size) : what_(what), size_(size) {}

  json read(const std::string& text) {
    if (find_invalid_utf8(text) != std::string::npos) refuse("the text is not valid UTF-8");
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) refuse("the text is not a YAML mapping");
    json object = json::object();
    for (const auto& entry : root) {
      const std::string name = checked(entry.first.as<std::string>());  // "null" for the keys ~ and null, as in Marian
      if (object.contains(name)) refuse(fmt::format("the key '{}' occurs twice", printable(name)));
      object[name] = value_of(entry.second);
    }
    return object;
  }

  // Escapes in a YAML text can stand for any byte, but JSON is UTF-8. Without aliases, all texts together are at most
  // twice as long as the file: an escape of two bytes can stand for three.
  std::string checked(const std::string& text) {
    converted_ += text.size() + 1;
    if (converted_ > 2 * size_ + 16) refuse("aliases are not supported");
    if (find_invalid_utf8(text) != std::string::npos) refuse("the text is not valid UTF-8");
    return text;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorKind::checkpoint, fmt::format("{}: {}", what_, why));
  }

 private:
  json scalar(const YAML::Node& node) {
    const std::string text = checked(node.Scalar());
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

  const std::string& what_;
  size_t size_, converted_ = 0;
};

}  // namespace

json parse_yaml(const std::string& text, const std::string& what) {
  YamlReader reader(what, text.size());
  try {
    return reader.read(text);
  } catch (const YAML::Exception& error) {
    reader.refuse(printable(error.what()));
  }
}

}  // namespace weft
