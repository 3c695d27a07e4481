// trainer/export/output_folder.h: creates an exported model's folder, which appears complete or not at all.
//
// Files are written to PATH.tmp-PID, which commit() renames to PATH, or else the destructor removes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "trainer/checkpoint/checkpoint_draft.h"

namespace weft {

class OutputFolder {
 public:
  // REQUIRES: PATH does not exist or is an empty folder. With `force`, PATH may be an earlier export, which commit()
  // replaces: a folder that contains only regular files whose names exports write, and Python's cache. Otherwise throws
  // an Error of kind usage that names the obstacle. Creates PATH's parents, which are removed without commit().
  OutputFolder(const std::string& path, bool force);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  std::string file(const std::string& name) const;  // path where the file `name` must be written
  void write(const std::string& name, std::string_view content) const;
  void copy(const std::string& from, const std::string& name) const;
  // Syncs folder and files to disk, renames the folder, and returns the sizes of the files by name.
  std::map<std::string, uint64_t> commit();

 private:
  std::string path_, temporary_;
  MadeFolders parents_;
  FileDescriptor lock_;  // of the temporary folder
  bool committed_ = false;
};

}  // namespace weft
