// data/temporary_folder.h: makes a folder under TMPDIR, which the destructor removes with its content.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "tensor/error.h"

namespace weft {

class TemporaryFolder {
 public:
  TemporaryFolder() {  // throws an io Error if the folder cannot be created
    std::error_code none;
    const std::filesystem::path base = std::filesystem::temp_directory_path(none);
    // Like mpirun, uses /tmp if the folder named by TMPDIR is missing.
    path_ = (none ? "/tmp" : base) / "weft-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr)
      fail(ErrorKind::io, fmt::format("cannot create the folder {}: {}; set TMPDIR to a folder that you can write to",
                                      path_, std::strerror(errno)));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace weft
