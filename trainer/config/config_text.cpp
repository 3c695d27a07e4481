// trainer/config/config_text.cpp: converts .cfg text to a RunConfig, and back.
#include "trainer/config/config_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "data/atomic_file.h"
#include "data/text/unicode.h"
#include "trainer/config/nearest.h"

namespace weft {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

constexpr size_t kLongestQuote = 200;

constexpr size_t kLargestFile = 1 << 20;  // bytes, far more than any configuration needs

// Rejects binary files, because messages that quote them could disturb a terminal.
void require_text(const std::string& text, const std::string& file_name) {
  const bool control = std::any_of(text.begin(), text.end(), [](unsigned char c) {
    return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
  });
  if (text.size() > kLargestFile || control || find_invalid_utf8(text) != std::string::npos)
    fail(ErrorKind::usage,
         fmt::format("{} is not a configuration file: a .cfg is UTF-8 text of at most 1 MiB", file_name));
}

// Rejects a value that would be read back differently. For example, a `#` would start a comment.
void refuse_unwritable(const Field& field) {
  const std::string value = field.get();
  if (value.find_first_of("#\n\r") != std::string::npos || trimmed(value) != value)
    fail(ErrorKind::usage, fmt::format("{} = '{}': a value in a .cfg cannot contain '#' or line ends, and cannot start "
                                       "or end with a space; use a different path, or put the command into a script",
                                       field.key, printable(value, kLongestQuote)));
}

std::string unknown_key(const std::string& key, const std::vector<Field>& fields, const std::string& command) {
  std::vector<std::string> keys;
  for (const Field& field : fields) keys.push_back(field.key);
  const std::string nearest = nearest_name(key, keys);
  return fmt::format("unknown key '{}'{}", printable(key),
                     nearest.empty() ? fmt::format("; `weft {} --help` lists all keys", command)
                                     : fmt::format("; did you mean '{}'?", nearest));
}

// Adds the stages that a file mentions, in the order of the file, including stages whose section is empty.
void add_stages(const std::vector<CfgOption>& options, const std::string& file_name, RunConfig& config) {
  for (const CfgOption& option : options) {
    try {
      add_stage_of(option.key, config);
    } catch (const Error& e) {
      fail(ErrorKind::usage, fmt::format("{}: {}", file_name, e.what()));
    }
  }
}

void apply(const std::vector<CfgOption>& options, const std::string& file_name, std::vector<Field>& fields,
           const std::string& command, UnknownKeys unknown) {
  std::set<std::string> seen;
  for (const CfgOption& option : options) {
    if (option.is_section) continue;
    const std::string where = fmt::format("{}:{}", file_name, option.line);
    const auto field = std::ranges::find(fields, option.key, &Field::key);
    if (field == fields.end()) {
      if (unknown == UnknownKeys::left_out) continue;
      fail(ErrorKind::usage, fmt::format("{}: {}", where, unknown_key(option.key, fields, command)));
    }
    if (!seen.insert(field->key).second)
      fail(ErrorKind::usage, fmt::format("{}: {} is given twice", where, field->key));
    try {
      field->set(option.value);
    } catch (const Error& e) {
      fail(ErrorKind::usage, fmt::format("{}: {}", where, e.what()));
    }
  }
}

std::string cfg_text(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text(kLargestFile + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || !in.is_open())
    fail(ErrorKind::usage, fmt::format("cannot read the configuration '{}': {}", path, std::strerror(errno)));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

}  // namespace

std::vector<CfgOption> read_cfg(const std::string& text, const std::string& file_name) {
  require_text(text, file_name);
  std::vector<CfgOption> options;
  std::istringstream in(text);
  std::string line, section;
  for (int number = 1; std::getline(in, line); ++number) {
    if (trimmed(line).find('\r') != std::string::npos)  // a comment would hide what follows
      fail(ErrorKind::usage, fmt::format("{}:{}: a carriage return within the line '{}': end lines with \\n or \\r\\n",
                                         file_name, number, printable(line, kLongestQuote)));
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2) + ".";
      options.push_back({.key = section, .value = "", .line = number, .is_section = true});
    } else if (equals != std::string::npos) {
      options.push_back({.key = section + trimmed(line.substr(0, equals)),
                         .value = trimmed(line.substr(equals + 1)),
                         .line = number});
    } else {
      fail(ErrorKind::usage, fmt::format("{}:{}: '{}' is neither a [section] nor 'key = value'", file_name, number,
                                         printable(line, kLongestQuote)));
    }
  }
  return options;
}

void apply_cfg(const std::string& text, const std::string& file_name, RunConfig& config, UnknownKeys unknown) {
  const std::vector<CfgOption> options = read_cfg(text, file_name);
  add_stages(options, file_name, config);
  std::vector<Field> fields = fields_of(config);
  apply(options, file_name, fields, "train", unknown);
}

void apply_cfg_file(const std::string& path, RunConfig& config) { apply_cfg(cfg_text(path), path, config); }

void apply_cfg_file(const std::string& path, std::vector<Field>& fields, const std::string& command) {
  apply(read_cfg(cfg_text(path), path), path, fields, command, UnknownKeys::refused);
}

void add_stage_of(const std::string& key, RunConfig& config) {
  constexpr std::string_view kPrefix = "stage.";
  if (!key.starts_with(kPrefix)) return;
  const size_t dot = key.find('.', kPrefix.size());
  const std::string name = key.substr(kPrefix.size(), dot == std::string::npos ? dot : dot - kPrefix.size());
  const bool plain =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
  if (name.empty() || !plain || dot == std::string::npos)
    fail(ErrorKind::usage,
         fmt::format("'{}' is not an option of a stage: use stage.NAME.key, for example stage.1.mix, where NAME "
                     "contains only letters, digits, - and _",
                     printable(key)));
  auto stage = std::ranges::find(config.stages, name, &StageConfig::name);
  if (stage == config.stages.end()) stage = config.stages.insert(stage, {.name = name});
  if (key.substr(dot).starts_with(".schedule.")) stage->has_schedule = true;
}

void require_writable(const RunConfig& config) {
  RunConfig copy = config;
  for (const Field& field : fields_of(copy)) refuse_unwritable(field);
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

RunConfig config_to_keep(RunConfig config) {
  RunConfig defaults;
  std::vector<Field> fields = fields_of(config);
  for (const Field& usual : fields_of(defaults))
    if (usual.on_resume == OnResume::this_start) std::ranges::find(fields, usual.key, &Field::key)->set(usual.get());
  return config;
}

std::string text_to_keep(const RunConfig& config) { return to_cfg(config_to_keep(config)); }

RunConfig kept_config(const std::string& folder) {
  const std::string path = folder + "/config.cfg";
  RunConfig config;
  apply_cfg(read_file(path), path, config, UnknownKeys::left_out);
  return config;
}

}  // namespace weft
