// trainer/checkpoint/checkpoint_draft.h: a checkpoint while it is being written: a temporary folder that is
// either renamed to the final one or removed.
#pragma once

#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft {

// Folders made for a checkpoint; the destructor removes those that are empty, unless they are kept.
class MadeFolders {
 public:
  MadeFolders() = default;
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

  void make(const std::string& path);  // with its parents; folders that exist already are not recorded
  void keep() { made_.clear(); }

 private:
  std::vector<std::string> made_;  // innermost first
};

class CheckpointDraft {
 public:
  // Makes `root` and its parents if necessary (removed again without commit), and removes temporary folders
  // of earlier saves. If the step's folder exists, a whole one is an Error; a damaged one is renamed to
  // step-N.damaged-PID.
  CheckpointDraft(const std::string& root, CheckpointManifest manifest);
  ~CheckpointDraft();  // without commit: removes what was written
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
