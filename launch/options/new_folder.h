// launch/options/new_folder.h: checks the folder of --output, in which a command makes a checkpoint.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {

// Throws a usage Error unless the folder does not exist, is empty, or contains only temporary folders. Killed commands
// leave such folders behind, and the next save removes them.
inline void require_new_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return;
  fs::directory_iterator it(path, error);
  if (error || !std::all_of(fs::begin(it), fs::end(it),
                            [](const auto& entry) { return is_temporary_name(entry.path().filename().string()); }))
    fail(ErrorKind::usage, fmt::format("--output {} already exists: give a new or empty folder", path));
}

}  // namespace weft
