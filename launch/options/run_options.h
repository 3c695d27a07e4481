// launch/options/run_options.h: reads the configuration of `weft train` from a file and the command line.
//
// On the command line, `--section.key=value` or `--section.key value` overrides an option of the .cfg file, and
// --stage.NAME.key creates a stage.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/run_config.h"

namespace weft {

// Reads --config FILE, --dry-run and --section.key=value. Returns false if --help was printed.
bool read_run_config(const std::vector<std::string>& args, RunConfig& config, bool& dry_run);

}  // namespace weft
