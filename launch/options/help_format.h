// launch/options/help_format.h: formats a command's help as text, as a man page, and as words for shell completion. All
// formats are made from the fields that the command parses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/config/fields.h"

namespace weft {

enum class HelpFormat : uint8_t { text, man, words };
constexpr EnumNames<HelpFormat, 3> enum_names(HelpFormat) {
  return {{{"text", HelpFormat::text}, {"man", HelpFormat::man}, {"words", HelpFormat::words}}};
}

// Returns the format requested by --help, -h or --help=FORMAT before any `--`. Error of kind usage for other formats.
std::optional<HelpFormat> asked_help(const std::vector<std::string>& args);

// Contains what a command's help shows. The first line of `usage` is the usage line without the program's name, and a
// description may follow. The positional_ members describe the arguments that have no option name.
struct HelpText {
  std::string usage, positional_name, positional_sentence;
  std::vector<Field> fields;        // grouped by section; options without a section come first
  std::vector<std::string> common;  // keys of the options that the text shows first
};

std::string section_of(const std::string& key);  // returns "model" for "model.width", and "" for "beam"

// Returns the help in lines of at most `columns` characters, with the current values of options in brackets.
std::string help_page(const HelpText& help, size_t columns);

// The man page of a command (man(7)) consists of manual_name() followed by manual_body().
std::string roff(const std::string& text);               // escapes text for a man page
std::string manual_page_of(const std::string& command);  // returns "weft-inspect-model" for "inspect model"
std::string manual_name(const std::string& page, const std::string& summary);
std::string manual_body(const HelpText& help);

// Returns one line per option: --key, the possible values (separated by spaces) and the sentence, separated by tabs.
std::string completion_words(const HelpText& help);

}  // namespace weft
