// launch/options/config_io.h: reads a run's configuration from a .cfg file and the command line, and writes
// it as text.
//
// A .cfg file is INI: `[section]`, `key = value`, `#` begins a comment. On the command line the same option
// is `--section.key=value` or `--section.key value`, which overrides the file. An unknown key is an Error of
// kind usage with the nearest name; a bad value is one with the key, the value and the allowed values.
// Relative paths start at the current folder. A section [stage.NAME], or an option --stage.NAME.key, makes a stage.
#pragma once

#include <string>
#include <vector>

#include "launch/options/fields.h"
#include "trainer/run_config.h"

namespace weft {

// `weft train`'s arguments: --config FILE, --dry-run, --section.key=value. False if --help was printed.
bool read_run_config(const std::vector<std::string>& args, RunConfig& config, bool& dry_run);

void apply_cfg(const std::string& text, const std::string& file_name, RunConfig& config);
void apply_cfg_file(const std::string& path, RunConfig& config);

// The same for other structs: `fields` are all of them, and `command` is the one whose --help lists them.
void apply_cfg_file(const std::string& path, std::vector<Field>& fields, const std::string& command);

// All options of a struct with sections(v).
template <typename Config>
std::vector<Field> fields_of(Config& config) {
  std::vector<Field> fields;
  FieldCollector all(fields, "");
  config.sections(all);
  return fields;
}

std::string fields_to_cfg(const std::vector<Field>& fields);
std::string to_cfg(const RunConfig& config);    // with each option's help; apply_cfg reads it back equal
std::string describe(const RunConfig& config);  // the table of all options for --help

}  // namespace weft
