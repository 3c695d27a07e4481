// trainer/checkpoint/checkpoint_draft.h: a checkpoint that is being written, in a temporary folder that is either
// renamed to the final one or removed.
#pragma once

#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {

// Records the folders made for a checkpoint. The destructor removes the empty ones unless keep() was called.
class MadeFolders {
 public:
  MadeFolders() = default;
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

  void make(const std::string& path);  // with its parents; existing folders are not recorded
  void keep() { made_.clear(); }

 private:
  std::vector<std::string> made_;  // innermost first
};

class CheckpointDraft {
 public:
  // Makes `root` and its parents if necessary (removed again without commit), and removes temporary folders of earlier
  // saves. If the step's folder exists, throws an Error if it is intact, or renames it to step-N.damaged-PID if it is
  // damaged.
  CheckpointDraft(const std::string& root, CheckpointManifest manifest);
  ~CheckpointDraft();  // removes what was written unless committed
  CheckpointDraft(const CheckpointDraft&) = delete;
  CheckpointDraft& operator=(const CheckpointDraft&) = delete;

  const std::string& folder() const { return temporary_; }
  void commit();  // manifest, fsync, rename, fsync of the parent

  CheckpointManifest manifest;  // the caller adds the files that are written into folder()

 private:
  MadeFolders folders_;
  std::string final_, temporary_;
  bool committed_ = false;
};

}  // namespace weft
