// launch/start/temporary_folder.cpp: makes and removes it.
#include "launch/start/temporary_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tensor/error.h"

namespace weft {

TemporaryFolder::TemporaryFolder() {
  std::error_code none;
  const std::filesystem::path base = std::filesystem::temp_directory_path(none);
  // mpirun makes do without the folder that TMPDIR names; so does this.
  path_ = (none ? "/tmp" : base) / "weft-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr)
    fail(ErrorKind::io, fmt::format("{}: {}; set TMPDIR to a folder for temporary files", path_, std::strerror(errno)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace weft
