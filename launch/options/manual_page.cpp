// launch/options/manual_page.cpp: formats help as a man page with the macros of man(7).
#include <algorithm>

#include "launch/options/help_format.h"
#include "trainer/version.h"

namespace weft {
namespace {

// Keeps the line ends of a description, because it contains examples.
std::string as_it_stands(const std::string& text) {
  return ".nf\n" + roff(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

std::string option(const Field& field) {
  std::string text = fmt::format(".TP\n.B {}\n{}.", roff("--" + field.key), roff(field.sentence));
  if (!field.choices.empty() && !field.is_flag)
    text += roff(fmt::format(" One of {}.", fmt::join(field.choices, ", ")));
  if (const std::string value = field.get(); !value.empty()) text += roff(" Default: " + value + ".");
  return text + "\n";
}

}  // namespace

// Escapes backslashes, minus signs, and the first character of a line if roff would read the line as a request.
std::string roff(const std::string& text) {
  std::string out;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    starts_line = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string manual_page_of(const std::string& command) {
  std::string page = "weft-" + command;
  std::replace(page.begin(), page.end(), ' ', '-');
  return page;
}

std::string manual_name(const std::string& page, const std::string& summary) {
  std::string title = page;
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 \"\" \"weft {}\" \"Weft\"\n.SH NAME\n{} \\- {}\n", roff(title), kVersion, roff(page),
                     roff(summary));
}

std::string manual_body(const HelpText& help) {
  const size_t line = help.usage.find('\n');
  std::string text = ".SH SYNOPSIS\n.nf\n" + roff("weft " + help.usage.substr(0, line)) + "\n.fi\n";
  const size_t description = line == std::string::npos ? line : help.usage.find_first_not_of('\n', line);
  if (description != std::string::npos) text += ".SH DESCRIPTION\n" + as_it_stands(help.usage.substr(description));
  text += ".SH OPTIONS\n";
  if (!help.positional_name.empty())
    text += fmt::format(".TP\n.I {}\n{}.\n", roff(help.positional_name), roff(help.positional_sentence));
  std::string section;
  for (const Field& field : help.fields) {
    if (section_of(field.key) != section) {
      section = section_of(field.key);
      text += fmt::format(".SS {}\n", roff(section));
    }
    text += option(field);
  }
  return text +
         ".SH EXIT STATUS\n0: success; 1: a bug in Weft; 2: usage or configuration; 3: data; 4: no loadable\n"
         "checkpoint; 5: input or output; 6: a lost rank; 7: a diverged run; 128 + N: a stop by signal N.\n"
         ".SH SEE ALSO\n.BR weft (1)\n.PP\n"
         "The documents and configurations named here, such as docs/running.md, are installed in share/doc/weft.\n";
}

}  // namespace weft
