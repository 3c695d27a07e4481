// launch/options/help_format.h: the forms of a command's help: for people, as a man page, and for completion in shells.
// All come from the fields that the command parses.
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

// What --help, -h or --help=FORMAT asks for, if there is one before `--`. Error of kind usage: no such format.
std::optional<HelpFormat> asked_help(const std::vector<std::string>& args);

// What a command says of itself: its usage line without the program's name, a description after the first line end;
// arguments without a name; options.
struct HelpText {
  std::string usage, positional_name, positional_sentence;
  std::vector<Field> fields;        // one section after another, those without a section first
  std::vector<std::string> common;  // keys of the options that the text shows first
};

std::string section_of(const std::string& key);  // "" or "model" of "model.width"

// The help in at most `columns` columns; and only its table of options, with their values in brackets.
std::string help_page(const HelpText& help, size_t columns);
std::string describe_fields(const std::vector<Field>& fields, size_t columns);

// A man page (man(7)) is manual_name(), then the manual_body() of the command.
std::string roff(const std::string& text);               // as man pages spell it
std::string manual_page_of(const std::string& command);  // weft-train, weft-inspect-model
std::string manual_name(const std::string& page, const std::string& summary);
std::string manual_body(const HelpText& help);

// A line for each option: --key, its possible values between spaces, and its sentence; tabs between them.
std::string completion_words(const HelpText& help);

}  // namespace weft
