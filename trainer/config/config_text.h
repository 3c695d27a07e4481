// trainer/config/config_text.h: configurations as the text of a .cfg file.
//
// A .cfg file is INI: `[section]`, `key = value`, `#` begins a comment. An unknown key is an Error of kind usage with
// the nearest name; a bad value is one with the key, the value and the allowed values. Relative paths start at the
// current folder. A section [stage.NAME] makes a stage.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/fields.h"
#include "trainer/config/run_config.h"

namespace weft {

struct CfgOption {
  std::string key, value;  // "model.width"; of a section's own line: "model."
  int line = 0;
  bool is_section = false;
};

// The lines of a .cfg file, in its order. An Error of kind usage names the file, and a line that is none.
std::vector<CfgOption> read_cfg(const std::string& text, const std::string& file_name);

// Keys that this version does not know: of a run of another version, they are left out.
enum class UnknownKeys : uint8_t { refused, left_out };
void apply_cfg(const std::string& text, const std::string& file_name, RunConfig& config,
               UnknownKeys unknown = UnknownKeys::refused);
void apply_cfg_file(const std::string& path, RunConfig& config);

// The same for other structs: `fields` are all of them, and `command` is the one whose --help lists them.
void apply_cfg_file(const std::string& path, std::vector<Field>& fields, const std::string& command);

// "stage.NAME.mix" or "stage.NAME.schedule.lr": makes the stage if there is none of this name.
void add_stage_of(const std::string& key, RunConfig& config);

std::string fields_to_cfg(const std::vector<Field>& fields);
std::string to_cfg(const RunConfig& config);     // with each option's help; apply_cfg reads it back equal
void require_writable(const RunConfig& config);  // an Error of kind usage if to_cfg() would not read back equal

// The configuration that a run's folder and checkpoints keep, without what belongs to one start alone, and its text.
RunConfig config_to_keep(RunConfig config);
std::string text_to_keep(const RunConfig& config);
// That of a checkpoint or of a run's folder.
RunConfig kept_config(const std::string& folder);

}  // namespace weft
