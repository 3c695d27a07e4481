// launch/options/run_options.h: the arguments of `weft train`: a configuration from a file and the command line.
//
// On the command line an option of a .cfg file is `--section.key=value` or `--section.key value`, which overrides the
// file. An option --stage.NAME.key makes a stage.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/run_config.h"

namespace weft {

// --config FILE, --dry-run, --section.key=value. False if --help was printed.
bool read_run_config(const std::vector<std::string>& args, RunConfig& config, bool& dry_run);

}  // namespace weft
