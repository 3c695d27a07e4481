// launch/options/options.h: parses the options of a subcommand and prints its --help.
//
//   Options options("pack --source FILE --target FILE --output DIR [options]");
//   options.add("source", source, "text, one sentence per line");     // --source FILE or --source=FILE
//   options.section("decode", decode);                                // --decode.beam=5
//   options.positional("FILE", files, "what to inspect");             // arguments without a name
//   if (!options.parse(args)) return 0;                               // --help was printed
//   options.require("source");                                        // Error of kind usage if it has no value
//
// --help=man prints a man page, and --help=words prints the words for shell completion (launch/options/help_format.h).
//
// A bool is a flag: `--json`, `--json=true` or `--json false`. If an option is unknown, the Error suggests the nearest
// name. The constructor's text is the usage line without the program's name, optionally followed by a description.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "launch/options/help_format.h"
#include "trainer/config/fields.h"

namespace weft {

class Options {
 public:
  explicit Options(std::string usage) : usage_(std::move(usage)) {}

  template <typename T>  // T: std::string, std::vector<std::string>, bool, an integer, a double or a named enum
  void add(const char* name, T& value, const char* sentence) {
    FieldCollector(fields_, "")(name, value, sentence);
  }
  template <typename Section>
  void section(const char* name, Section& section) {
    FieldCollector(fields_, "")(name, section);
  }
  template <typename Config>
  void sections(Config& config) {
    FieldCollector all(fields_, "");
    config.sections(all);
  }
  void positional(const char* name, std::vector<std::string>& values, const char* sentence);

  void describe_default(const std::string& key, const std::string& text);        // --help shows it as the default
  void show_first(std::vector<std::string> keys) { common_ = std::move(keys); }  // what --help lists first
  // Hides an option from --help and completion. Options still parses it, so that the command can say why it is refused.
  void hide(const std::string& key) { hidden_.insert(key); }

  bool parse(const std::vector<std::string>& args);  // false: --help was printed to stdout
  bool given(const std::string& key) const { return given_.contains(key); }
  // Sets the values found by parse() again, except lists. Call set_given() after giving the variables new defaults.
  void set_given() const;
  std::map<std::string, std::string> values() const;  // of all options, given or not; lists are left out
  size_t num_before_positional(const std::vector<std::string>& args) const;  // counts options and values
  void require(const std::string& key) const;
  std::string help(HelpFormat format = HelpFormat::text) const;

 private:
  void take_positional(const std::string& text);

  std::string usage_;
  std::vector<Field> fields_;
  std::vector<std::string> common_;
  std::set<std::string> hidden_;
  std::string positional_name_, positional_sentence_;
  std::vector<std::string>* positional_ = nullptr;
  std::multimap<std::string, std::string> given_;  // values by option
};

}  // namespace weft
