// trainer/export/output_folder.h: an exported model's folder, which appears complete or not at all.
//
// Files are written to PATH.tmp-PID, which commit() renames to PATH. Without commit the destructor removes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "trainer/checkpoint/checkpoint_draft.h"

namespace weft {

class OutputFolder {
 public:
  // Opens a new or empty folder PATH. With `force` it may also be an earlier export, which commit() replaces: a folder
  // that contains only regular files with names that exports write, and Python's cache of them. Otherwise throws an
  // Error of kind usage that names what is in the way. Makes PATH's parents, which are removed again without commit.
  OutputFolder(const std::string& path, bool force);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  std::string file(const std::string& name) const;  // path at which a file of this name is written
  void write(const std::string& name, std::string_view content) const;
  void copy(const std::string& from, const std::string& name) const;
  // Syncs folder and files to disk, and returns the sizes of the files by name.
  std::map<std::string, uint64_t> commit();

 private:
  std::string path_, temporary_;
  MadeFolders parents_;
  bool committed_ = false;
};

}  // namespace weft
