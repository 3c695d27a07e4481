// launch/options/config_io.cpp: converts .cfg text to a RunConfig, with Boost.Program_options, and back.
#include "launch/options/config_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "data/text/unicode.h"
#include "launch/options/nearest.h"
#include "launch/options/options.h"

namespace weft {
namespace {

namespace po = boost::program_options;

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Line number of a key's last occurrence, which Boost does not report; 0 if there is none.
int line_of(const std::string& text, const std::string& key) {
  std::istringstream in(text);
  std::string line, section;
  int found = 0;
  for (int number = 1; std::getline(in, line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.size() > 1 && line.front() == '[' && line.back() == ']') section = line.substr(1, line.size() - 2) + ".";
    const size_t equals = line.find('=');
    if (equals != std::string::npos && section + trimmed(line.substr(0, equals)) == key) found = number;
  }
  return found;
}

constexpr size_t kLongestQuote = 200;

// Without Boost's what(), which never ends for a line with a %placeholder% of its own.
std::string invalid_line(const std::string& text, const std::string& file_name, const std::string& invalid) {
  std::istringstream in(text);
  std::string line;
  int number = 1;
  while (std::getline(in, line) && trimmed(line.substr(0, line.find('#'))) != invalid) ++number;
  return fmt::format("{}:{}: '{}' is neither a [section] nor 'key = value'", file_name, number,
                     printable(invalid, kLongestQuote));
}

constexpr size_t kLargestFile = 1 << 20;  // bytes; far more than any configuration

// Binary files given by mistake must not be printed to a terminal.
void require_text(const std::string& text, const std::string& file_name) {
  const bool control = std::any_of(text.begin(), text.end(), [](unsigned char c) {
    return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
  });
  if (text.size() > kLargestFile || control || find_invalid_utf8(text) != std::string::npos)
    fail(ErrorKind::usage,
         fmt::format("{} is not a configuration: give a .cfg, which is a small text file", file_name));
}

// Refuses values that would not read back: a `#` would silently cut the rest of a value.
void refuse_unwritable(const Field& field) {
  const std::string value = field.get();
  if (value.find_first_of("#\n\r") != std::string::npos || trimmed(value) != value)
    fail(ErrorKind::usage, fmt::format("{} = '{}': a .cfg cannot hold '#', line ends and outer spaces; choose "
                                       "another path, or put a command into a script",
                                       field.key, value));
}

// `key`: "stage.NAME.mix" or "stage.NAME.schedule.lr".
void add_stage_of(const std::string& key, RunConfig& config) {
  constexpr std::string_view kPrefix = "stage.";
  if (!key.starts_with(kPrefix)) return;
  const size_t dot = key.find('.', kPrefix.size());
  const std::string name = key.substr(kPrefix.size(), dot == std::string::npos ? dot : dot - kPrefix.size());
  const bool plain =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
  if (name.empty() || !plain || dot == std::string::npos)
    fail(ErrorKind::usage, fmt::format("'{}': an option of a stage is stage.NAME.key, such as stage.1.mix; a name has "
                                       "letters, digits, - and _",
                                       printable(key)));
  auto stage = std::ranges::find(config.stages, name, &StageConfig::name);
  if (stage == config.stages.end()) stage = config.stages.insert(stage, {.name = name});
  if (key.substr(dot).starts_with(".schedule.")) stage->has_schedule = true;
}

// The stages that a file mentions, in its order.
void add_stages_of_file(const std::string& text, const std::string& file_name, RunConfig& config) {
  std::istringstream in(text);
  std::string section;
  for (std::string line; std::getline(in, line);) {
    line = trimmed(line.substr(0, line.find('#')));
    const bool is_section = line.size() > 1 && line.front() == '[' && line.back() == ']';
    if (is_section) section = line.substr(1, line.size() - 2);
    if (!is_section && line.find('=') == std::string::npos) continue;
    try {  // a section mentions its stage, even if it is empty
      add_stage_of(section + "." + (is_section ? "" : trimmed(line.substr(0, line.find('=')))), config);
    } catch (const Error& e) {
      fail(ErrorKind::usage, fmt::format("{}: {}", file_name, e.what()));
    }
  }
}

// Those of the command line. --help shows the options of a stage called NAME.
void add_stages_of_arguments(const std::vector<std::string>& args, RunConfig& config) {
  for (const std::string& arg : args) {
    if (arg.starts_with("--help") && config.stages.empty())
      config.stages.push_back({.name = "NAME", .has_schedule = true});
    if (arg.starts_with("--stage.")) add_stage_of(arg.substr(2, arg.find('=') - 2), config);
  }
}

std::string unknown_key(const std::string& key, const std::vector<Field>& fields, const std::string& command) {
  std::vector<std::string> keys;
  for (const Field& field : fields) keys.push_back(field.key);
  const std::string nearest = nearest_name(key, keys);
  return fmt::format("unknown key '{}'{}", printable(key),
                     nearest.empty() ? fmt::format("; `weft {} --help` lists them all", command)
                                     : fmt::format("; did you mean '{}'?", nearest));
}

void apply_text(const std::string& text, const std::string& file_name, std::vector<Field>& fields,
                const std::string& command) {
  require_text(text, file_name);
  std::istringstream in(text);
  po::options_description none;
  po::parsed_options parsed(&none);
  try {
    parsed = po::parse_config_file(in, none, /*allow_unregistered=*/true);
  } catch (const po::invalid_config_file_syntax& e) {
    fail(ErrorKind::usage, invalid_line(text, file_name, e.tokens()));
  }
  std::set<std::string> seen;
  for (const po::option& option : parsed.options) {
    const std::string where = fmt::format("{}:{}", file_name, line_of(text, option.string_key));
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.key == option.string_key; });
    if (field == fields.end())
      fail(ErrorKind::usage, fmt::format("{}: {}", where, unknown_key(option.string_key, fields, command)));
    if (!seen.insert(field->key).second)
      fail(ErrorKind::usage, fmt::format("{}: {} is given twice", where, field->key));
    try {
      field->set(option.value.at(0));
    } catch (const Error& e) {
      fail(ErrorKind::usage, fmt::format("{}: {}", where, e.what()));
    }
  }
}

std::string cfg_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kLargestFile + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || !in.is_open()) fail(ErrorKind::usage, fmt::format("cannot read the configuration '{}'", path));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

}  // namespace

void apply_cfg(const std::string& text, const std::string& file_name, RunConfig& config) {
  require_text(text, file_name);
  add_stages_of_file(text, file_name, config);
  std::vector<Field> fields = fields_of(config);
  apply_text(text, file_name, fields, "train");
}

void apply_cfg_file(const std::string& path, RunConfig& config) { apply_cfg(cfg_text(path), path, config); }

void apply_cfg_file(const std::string& path, std::vector<Field>& fields, const std::string& command) {
  apply_text(cfg_text(path), path, fields, command);
}

bool read_run_config(const std::vector<std::string>& args, RunConfig& config, bool& dry_run) {
  std::string file;
  const auto parse = [&](RunConfig& into) {
    dry_run = false;
    add_stages_of_arguments(args, into);
    Options options("train --config FILE [--section.key=value ...]");
    options.add("config", file, "a .cfg file; options on the command line override it");
    options.add("dry-run", dry_run, "print the plan (parameters, grid, memory, blocks) and stop");
    options.sections(into);
    return options.parse(args);
  };
  RunConfig looked_at;  // the first pass only finds --config
  if (!parse(looked_at)) return false;
  if (!file.empty()) apply_cfg_file(file, config);
  parse(config);
  for (const Field& field : fields_of(config)) refuse_unwritable(field);
  return true;
}

std::string to_cfg(const RunConfig& config) {
  RunConfig copy = config;
  return fields_to_cfg(fields_of(copy));
}

std::string fields_to_cfg(const std::vector<Field>& fields) {
  std::string text, section;
  for (const Field& field : fields) {
    refuse_unwritable(field);
    const size_t dot = field.key.rfind('.');  // keys without a dot come before the first section
    if (dot != std::string::npos && field.key.substr(0, dot) != section) {
      section = field.key.substr(0, dot);
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    }
    text += fmt::format("# {}\n{} = {}\n", field.sentence, field.key.substr(dot + 1), field.get());
  }
  return text;
}

std::string describe(const RunConfig& config) {
  RunConfig copy = config;
  return describe_fields(fields_of(copy));
}

}  // namespace weft
