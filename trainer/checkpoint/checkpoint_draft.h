// trainer/checkpoint/checkpoint_draft.h: writes a checkpoint in a temporary folder, which is then either renamed to the
// final name or removed.
#pragma once

#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {

// Records folders that a command creates for a checkpoint. Unless keep() is called, the destructor removes the empty
// ones.
class MadeFolders {
 public:
  MadeFolders() = default;
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

  void make(const std::string& path);  // creates parents as needed; existing folders are not recorded
  void keep() { made_.clear(); }

 private:
  std::vector<std::string> made_;  // innermost first
};

class CheckpointDraft {
 public:
  // Creates `root` if necessary, and removes what killed writers left there. Does not create its parents,
  // so that a run whose folder is removed does not make it again. If the step's folder already exists, renames it to
  // step-N.damaged-PID if it is damaged, and otherwise throws an Error.
  CheckpointDraft(const std::string& root, CheckpointManifest manifest);
  ~CheckpointDraft();  // removes all files unless commit() succeeded
  CheckpointDraft(const CheckpointDraft&) = delete;
  CheckpointDraft& operator=(const CheckpointDraft&) = delete;

  const std::string& folder() const { return temporary_; }
  void commit();  // writes the manifest, calls fsync, renames the folder, calls fsync on its parent

  CheckpointManifest manifest;  // the caller lists here the files that it writes into folder()

 private:
  std::string final_, temporary_;
  FileDescriptor lock_;  // of the temporary folder
  bool committed_ = false;
};

}  // namespace weft
