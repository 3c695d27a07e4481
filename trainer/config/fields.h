// trainer/config/fields.h: lists a struct's options, with values as text, for the command line, .cfg files and --help.
//
// A struct lists its fields once, in fields(v) (trainer/config/run_config.h). Each Field refers to a member. set()
// parses a text into the member, or throws an Error with the allowed values. get() returns a text from which set()
// restores the value. REQUIRES: the struct outlives its Fields.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "data/text/number.h"
#include "tensor/enum_names.h"
#include "tensor/error.h"
#include "tensor/on_resume.h"

namespace weft {

struct Field {
  std::string key;  // "model.width", "vocab-size"
  std::string sentence;
  OnResume on_resume = OnResume::may_change;
  bool is_flag = false;              // a bool: a bare `--key` means true
  bool is_list = false;              // a list: the option may be repeated
  std::vector<std::string> choices;  // for a bool or an enum
  std::function<void(const std::string&)> set;
  std::function<std::string()> get;
};

[[noreturn]] inline void fail_value(const std::string& key, const std::string& text, const std::string& allowed) {
  fail(ErrorKind::usage, fmt::format("{} = '{}' is not valid: give {}", key, printable(text), allowed));
}

// A type that converts itself from and to text. parse() returns false if the text is not what kAllowed describes.
template <typename T>
concept parses_itself = requires(T value, const std::string& text) {
  { value.parse(text) } -> std::same_as<bool>;
  { value.text() } -> std::same_as<std::string>;
};

template <typename T>
void parse_value(const std::string& key, const std::string& text, T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    value = text;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    value.push_back(text);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (text != "true" && text != "false") fail_value(key, text, "true or false");
    value = text == "true";
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& [name, candidate] : enum_names(T{}))
      if (text == name) {
        value = candidate;
        return;
      }
    fail_value(key, text, "one of " + joined_enum_names<T>());
  } else if constexpr (parses_itself<T>) {
    if (!value.parse(text)) fail_value(key, text, T::kAllowed);
  } else {
    const std::optional<T> parsed = parse_number<T>(text);
    if (!parsed)
      fail_value(key, text,
                 std::is_floating_point_v<T> ? "a number"
                 : std::is_unsigned_v<T>     ? "a whole number, 0 or more"
                                             : "a whole number");
    value = *parsed;
  }
}

template <typename T>
std::string print_value(const T& value) {
  if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return fmt::format("{}", fmt::join(value, " "));
  } else if constexpr (std::is_enum_v<T>) {
    return name_of_enum(value);
  } else if constexpr (parses_itself<T>) {
    return value.text();
  } else {
    return fmt::format("{}", value);  // for floats, the shortest text from which the same value is read
  }
}

// Returns all texts that a bool or an enum accepts. Returns an empty list for other types.
template <typename T>
std::vector<std::string> choices_of() {
  std::vector<std::string> names;
  if constexpr (std::is_same_v<T, bool>) names = {"true", "false"};
  if constexpr (std::is_enum_v<T>)
    for (const auto& [name, value] : enum_names(T{})) names.emplace_back(name);
  return names;
}

class FieldCollector {  // the `v` of fields(v), and of RunConfig::sections(v)
 public:
  FieldCollector(std::vector<Field>& out, std::string section) : out_(out), section_(std::move(section)) {}

  template <typename T>
  void operator()(const char* name, T& member, const char* sentence, OnResume on_resume = OnResume::may_change) {
    const std::string key = section_.empty() ? name : section_ + "." + name;
    out_.push_back({.key = key,
                    .sentence = sentence,
                    .on_resume = on_resume,
                    .is_flag = std::is_same_v<T, bool>,
                    .is_list = std::is_same_v<T, std::vector<std::string>>,
                    .choices = choices_of<T>(),
                    .set = [key, &member](const std::string& text) { parse_value(key, text, member); },
                    .get = [&member] { return print_value(member); }});
  }

  template <typename Section>
  void operator()(const char* name, Section& section) {
    FieldCollector inner(out_, section_.empty() ? name : section_ + "." + name);
    section.fields(inner);
  }

  template <typename Section>  // sections with names: "stage.warm-up.steps"
  void operator()(const char* name, std::vector<Section>& sections) {
    for (Section& section : sections) (*this)((std::string(name) + "." + section.name).c_str(), section);
  }

 private:
  std::vector<Field>& out_;
  std::string section_;
};

// Returns all options of a struct that defines sections(v).
template <typename Config>
std::vector<Field> fields_of(Config& config) {
  std::vector<Field> fields;
  FieldCollector all(fields, "");
  config.sections(all);
  return fields;
}

}  // namespace weft
