// data/packing/pack_folder.h: makes a corpus folder, or adds shards to a corpus. Nothing is visible until commit() or
// append(), and nothing remains after a failure.
//
// Files are created in FOLDER/.packing, which is locked, so that two packs cannot mix. Files of a killed pack are
// removed. commit() moves the new files into FOLDER, the manifest last. Otherwise, the destructor removes them.
#pragma once

#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "data/shards/manifest.h"

namespace weft {

enum class ExistingCorpus { refuse, replace, extend };

class PackFolder {
 public:
  // Throws a usage Error if `folder` is a checkpoint, or if `existing` is extend and there is no corpus. If `existing`
  // is refuse, also throws for a corpus, and for files of a corpus that no killed pack left.
  PackFolder(std::string folder, ExistingCorpus existing);
  ~PackFolder();
  PackFolder(const PackFolder&) = delete;
  PackFolder& operator=(const PackFolder&) = delete;

  const std::string& working() const { return working_; }  // files are created here
  std::string working(const std::string& file) const { return working_ + "/" + file; }

  // Removes an older corpus, then moves the manifest's files out of working().
  void commit(const Manifest& manifest, const Creation& creation);

  // Moves shard `first` and all later shards, replaces the manifest, and removes files that the new one does not list.
  // Until the manifest is replaced, the old corpus is intact.
  void append(const Manifest& manifest, size_t first, const Creation& creation);

 private:
  void place(const std::string& file);
  void remove_old_corpus() const;

  std::string folder_, working_;
  bool created_ = false, committed_ = false;
  FileDescriptor lock_;
  std::vector<std::string> placed_;  // files moved so far
};

}  // namespace weft
