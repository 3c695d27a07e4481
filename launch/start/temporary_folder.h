// launch/start/temporary_folder.h: a folder under TMPDIR that is removed with its content.
#pragma once

#include <string>

namespace weft {

class TemporaryFolder {
 public:
  TemporaryFolder();  // an Error of kind io if it cannot be made
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weft
