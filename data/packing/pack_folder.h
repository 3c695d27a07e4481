// data/packing/pack_folder.h: a corpus folder in the making: nothing is visible in it until commit(), nothing remains
// after a failure.
//
// Files are made in FOLDER/.packing, which is locked, so two packs do not mix; what a killed one left there is removed.
// commit() moves them into FOLDER, the manifest last. Destroyed without commit, everything made is removed again.
#pragma once

#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "data/shards/manifest.h"

namespace weft {

class PackFolder {
 public:
  // An Error of kind usage if `folder` holds a corpus already and `overwrite` is false.
  PackFolder(std::string folder, bool overwrite);
  ~PackFolder();
  PackFolder(const PackFolder&) = delete;
  PackFolder& operator=(const PackFolder&) = delete;

  const std::string& working() const { return working_; }  // files are made here
  std::string working(const std::string& file) const { return working_ + "/" + file; }

  // Moves the manifest's files out of working(); an older corpus is removed just before.
  void commit(const Manifest& manifest, const Creation& creation);

 private:
  void remove_old_corpus() const;

  std::string folder_, working_;
  bool created_ = false, committed_ = false;
  FileDescriptor lock_;
  std::vector<std::string> placed_;  // files moved so far
};

}  // namespace weft
