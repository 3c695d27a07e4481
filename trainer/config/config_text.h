// trainer/config/config_text.h: reads and writes configurations as the text of a .cfg file.
//
// A .cfg file is an INI file with `[section]`, `key = value` and comments after `#`. A section [stage.NAME] adds a
// stage. Relative paths are relative to the current folder. An unknown key causes an Error of kind usage that suggests
// the nearest name. An invalid value causes an Error that names key, value and allowed values.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/fields.h"
#include "trainer/config/run_config.h"

namespace weft {

struct CfgOption {
  std::string key, value;  // "model.width"; "model." for the line [model]
  int line = 0;
  bool is_section = false;
};

// Returns the lines of a .cfg file in order. Throws an Error of kind usage that names the file and a malformed line.
std::vector<CfgOption> read_cfg(const std::string& text, const std::string& file_name);

// What happens to unknown keys, which the configuration of a run by a different version of Weft may contain.
enum class UnknownKeys : uint8_t { refused, left_out };
void apply_cfg(const std::string& text, const std::string& file_name, RunConfig& config,
               UnknownKeys unknown = UnknownKeys::refused);
void apply_cfg_file(const std::string& path, RunConfig& config);

// Does the same for structs other than RunConfig. `fields` lists all options, as does --help of `command`.
void apply_cfg_file(const std::string& path, std::vector<Field>& fields, const std::string& command);

// Adds stage NAME for a key such as "stage.NAME.mix" or "stage.NAME.schedule.lr", unless the stage exists.
void add_stage_of(const std::string& key, RunConfig& config);

std::string fields_to_cfg(const std::vector<Field>& fields);
std::string to_cfg(const RunConfig& config);     // with help as comments; apply_cfg() restores an equal config
void require_writable(const RunConfig& config);  // throws an Error of kind usage if apply_cfg() could not restore it

// Return what a run's folder and checkpoints store: the configuration without options of a single start, and its text.
RunConfig config_to_keep(RunConfig config);
std::string text_to_keep(const RunConfig& config);
// Returns the configuration stored in a checkpoint or a run's folder.
RunConfig kept_config(const std::string& folder);

}  // namespace weft
