// launch/commands/import_adapters.h: makes a checkpoint from adapters of another program.
#pragma once

#include <string>

namespace weft {

// Copies the model of `base`, a run or checkpoint, to OUTPUT/base, and writes the adapters of a folder of peft beside
// it. Prints a summary. Leaves no files behind if it fails.
void import_adapters(const std::string& folder, const std::string& base, const std::string& output);

}  // namespace weft
