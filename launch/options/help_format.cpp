// launch/options/help_format.cpp: formats help as text, and as words for completion.
#include "launch/options/help_format.h"

#include <algorithm>

#include "data/text/split.h"
#include "trainer/display/wrap.h"

namespace weft {
namespace {

constexpr size_t kMinName = 12, kMaxName = 28;  // width of the names; a longer name is on a separate line

std::string describe_one(const std::string& name, const std::string& sentence, size_t width, size_t columns) {
  const size_t indent = width + 4;
  const std::string gap = name.size() > width ? "\n" + std::string(indent, ' ') : "  ";
  return fmt::format("  {:<{}}{}{}\n", name, width, gap, wrap_words(sentence, indent, columns));
}

std::string with_default(const Field& field) {
  const std::string value = field.get();
  const bool unset = value.empty() || (field.is_flag && value == "false");
  return unset ? field.sentence : fmt::format("{} [{}]", field.sentence, value);
}

size_t name_width(const std::vector<Field>& fields) {
  size_t width = kMinName;
  for (const Field& field : fields) width = std::clamp(field.key.size() + 2, width, kMaxName);
  return width;
}

std::string describe_sections(const std::vector<Field>& fields, size_t width, size_t columns) {
  std::string text, section = ".";  // no section is called ".", so the first heading is always written
  for (const Field& field : fields) {
    if (section_of(field.key) != section) {
      section = section_of(field.key);
      text += section.empty() ? "\n" : fmt::format("\n{}\n", section);
    }
    text += describe_one("--" + field.key, with_default(field), width, columns);
  }
  return text;
}

// Wraps the lines of each paragraph again, but keeps lines that start with a space.
std::string wrap_paragraphs(const std::string& text, size_t columns) {
  std::string out, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += wrap_words(paragraph, 0, columns) + "\n";
    paragraph.clear();
  };
  for (const std::string_view line : split_lines(text)) {
    if (line.empty() || line.starts_with(' ')) {
      end_paragraph();
      out += fmt::format("{}\n", line);
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
    }
  }
  end_paragraph();
  return out;
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

std::string help_page(const HelpText& help, size_t columns) {
  const size_t line = std::min(help.usage.find('\n'), help.usage.size());
  const std::string_view usage = "usage: weft ";
  std::string text = fmt::format("{}{}\n", usage, wrap_words(help.usage.substr(0, line), usage.size(), columns));
  text += wrap_paragraphs(help.usage.substr(std::min(line + 1, help.usage.size())), columns);
  if (!help.positional_name.empty())
    text += "\n" + describe_one(help.positional_name, help.positional_sentence, kMinName, columns);
  const size_t width = name_width(help.fields);
  std::vector<Field> common, others;
  for (const Field& field : help.fields)
    (std::ranges::find(help.common, field.key) == help.common.end() ? others : common).push_back(field);
  if (!common.empty()) {
    std::ranges::sort(common, {}, [&](const Field& f) { return std::ranges::find(help.common, f.key); });
    text += "\ncommon options, with [defaults]\n";
    for (const Field& field : common) text += describe_one("--" + field.key, with_default(field), width, columns);
    if (!others.empty() && section_of(others.front().key).empty()) text += "\nother options";
  }
  return text + describe_sections(others, width, columns);
}

std::string completion_words(const HelpText& help) {
  std::string lines;
  for (const Field& field : help.fields)
    lines += fmt::format("--{}\t{}\t{}\n", field.key, fmt::join(field.choices, " "), field.sentence);
  return lines;
}

}  // namespace weft
