// trainer/config/config_text.h: reads and writes configurations as the text of a .cfg file.
//
// A .cfg file is INI: `[section]`, `key = value`, and `#` starts a comment. A section [stage.NAME] adds a stage.
// Relative paths start at the current folder. An unknown key throws an Error of kind usage that suggests the nearest
// name. A bad value throws one that names the key, the value and the allowed values.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/fields.h"
#include "trainer/config/run_config.h"

namespace weft {

struct CfgOption {
  std::string key, value;  // "model.width"; "model." for the section's own line
  int line = 0;
  bool is_section = false;
};

// Returns the lines of a .cfg file in order. Throws an Error of kind usage that names the file and a malformed line.
std::vector<CfgOption> read_cfg(const std::string& text, const std::string& file_name);

// What happens to keys that this version does not know. The configuration of a run of another version may contain some.
enum class UnknownKeys : uint8_t { refused, left_out };
void apply_cfg(const std::string& text, const std::string& file_name, RunConfig& config,
               UnknownKeys unknown = UnknownKeys::refused);
void apply_cfg_file(const std::string& path, RunConfig& config);

// Does the same for other structs. `fields` lists all options, and `command` is the command whose --help lists them.
void apply_cfg_file(const std::string& path, std::vector<Field>& fields, const std::string& command);

// Adds stage NAME for a key such as "stage.NAME.mix" or "stage.NAME.schedule.lr", unless the stage exists.
void add_stage_of(const std::string& key, RunConfig& config);

std::string fields_to_cfg(const std::vector<Field>& fields);
std::string to_cfg(const RunConfig& config);     // includes each option's help; apply_cfg() reads it back equal
void require_writable(const RunConfig& config);  // throws an Error of kind usage if to_cfg() would not read back equal

// Return the configuration that a run's folder and checkpoints store (without options of a single start), and its text.
RunConfig config_to_keep(RunConfig config);
std::string text_to_keep(const RunConfig& config);
// Returns the configuration stored in a checkpoint or a run's folder.
RunConfig kept_config(const std::string& folder);

}  // namespace weft
