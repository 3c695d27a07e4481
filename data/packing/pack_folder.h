// data/packing/pack_folder.h: a corpus folder under construction, or a corpus to which shards are added. Nothing is
// visible until commit() or append(), and nothing remains after a failure.
//
// Files are created in FOLDER/.packing, which is locked, so two packs do not mix. Leftovers of a killed pack are
// removed. commit() moves them into FOLDER, the manifest last. Destruction without commit removes everything created.
#pragma once

#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "data/shards/manifest.h"

namespace weft {

enum class ExistingCorpus { refuse, replace, extend };

class PackFolder {
 public:
  // Throws a usage Error if `folder` is a checkpoint, contains no corpus to extend, or, if `existing` is refuse,
  // contains a corpus or files of a corpus that no killed pack left there.
  PackFolder(std::string folder, ExistingCorpus existing);
  ~PackFolder();
  PackFolder(const PackFolder&) = delete;
  PackFolder& operator=(const PackFolder&) = delete;

  const std::string& working() const { return working_; }  // files are created here
  std::string working(const std::string& file) const { return working_ + "/" + file; }

  // Moves the manifest's files out of working(), after removing an older corpus.
  void commit(const Manifest& manifest, const Creation& creation);

  // Moves the shards from number `first` on, and replaces the manifest. Until then, the folder is the old corpus.
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
