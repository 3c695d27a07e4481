// data/create_folder.h: creates a folder, or says why it cannot be created.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "tensor/error.h"

namespace weft {

// Creates the folder and its parents unless they exist. Throws an io Error that starts with `option`, if there is
// one, or a filesystem_error for a name that is too long, so that the command line names its option.
inline void create_folder(const std::string& path, const std::string& option = "") {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error == std::errc::filename_too_long) throw std::filesystem::filesystem_error("create", path, error);
  if (error)
    fail(ErrorKind::io,
         fmt::format("{}{}cannot create the folder {}: {}", option, option.empty() ? "" : ": ", path, error.message()));
}

}  // namespace weft
