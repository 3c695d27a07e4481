// trainer/export/formats/npz.h: writes numpy's .npz: a zip archive of uncompressed .npy arrays, ordered by name.
//
// The formats are described in PKWARE's APPNOTE 6.3, sections 4.3.7 to 4.3.16, and numpy.lib.format, version 1.0. A
// library would add compression and random access, which are not needed here. zlib computes the checksums. Marian's
// reader supports archives of at most 4 GiB, so the writer throws an Error of kind usage for a larger one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/checkpoint/checked_file.h"

namespace weft {

class NpzWriter {
 public:
  explicit NpzWriter(const std::string& path) : file_(path) {}  // REQUIRES: the file is new

  void add(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& values);
  void add_bytes(const std::string& name, std::string_view bytes);  // int8 [size]
  void finish();

 private:
  void add_member(const std::string& name, const std::string& header, std::string_view data);

  DigestWriter file_;
  uint64_t offset_ = 0;
  std::string directory_;  // the central directory so far
  uint16_t members_ = 0;
};

}  // namespace weft
