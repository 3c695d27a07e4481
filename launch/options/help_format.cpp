// launch/options/help_format.cpp: help as text, and as words for completion.
#include "launch/options/help_format.h"

#include <algorithm>

namespace weft {
namespace {

constexpr int kNameColumn = 30;
constexpr int kValueColumn = 14;

std::string describe_one(const std::string& name, const std::string& value, const std::string& sentence) {
  return fmt::format("  {:<{}} {:<{}} {}\n", name, kNameColumn, value, kValueColumn, sentence);
}

}  // namespace

std::optional<HelpFormat> asked_help(const std::vector<std::string>& args) {
  const std::string with_format = "--help=";
  for (auto arg = args.begin(); arg != args.end() && *arg != "--"; ++arg) {
    if (*arg == "--help" || *arg == "-h") return HelpFormat::text;
    if (!arg->starts_with(with_format)) continue;
    HelpFormat format{};
    parse_value("help", arg->substr(with_format.size()), format);
    return format;
  }
  return std::nullopt;
}

std::string section_of(const std::string& key) {
  const size_t dot = key.find('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::string help_page(const HelpText& help) {
  std::string text = fmt::format("usage: weft {}\n", help.usage);
  if (!help.positional_name.empty()) text += "\n" + describe_one(help.positional_name, "", help.positional_sentence);
  return text + describe_fields(help.fields);
}

std::string describe_fields(const std::vector<Field>& fields) {
  std::string text, section = ".";  // no section has this name: the first heading is always written
  for (const Field& field : fields) {
    if (section_of(field.key) != section) {
      section = section_of(field.key);
      text += section.empty() ? "\n" : fmt::format("\n{}\n", section);
    }
    text += describe_one("--" + field.key, field.get(), field.sentence);
  }
  return text;
}

std::string completion_words(const HelpText& help) {
  std::string lines;
  for (const Field& field : help.fields)
    lines += fmt::format("--{}\t{}\t{}\n", field.key, fmt::join(field.choices, " "), field.sentence);
  return lines;
}

}  // namespace weft
