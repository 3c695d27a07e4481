// data/packing/duplicates.h: finds the pairs of a text that equal an earlier pair, in bounded memory.
//
// A pair is identified by 64 bits of the SHA-256 of its trimmed sides and its tags. Among 1e9 different pairs, the
// probability that any two are mistaken for equal is 3 %. The first byte of a hash selects one of 256 temporary files,
// and each file is sorted separately. Memory: one bit per pair, and 1/256 of the hashes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "data/packing/pair_text.h"

namespace weft {

class DuplicateFinder {
 public:
  explicit DuplicateFinder(const std::string& folder);  // REQUIRES: `folder` exists; finish() removes the files

  void add(const TextPair& pair);  // REQUIRES: pairs come in the order of the text
  std::vector<bool> finish();      // [pairs] true if an earlier pair is the same

 private:
  struct Record {
    uint64_t hash;
    int64_t number;
  };
  struct Bucket {
    std::string path;
    FileDescriptor file;
    std::vector<Record> buffer;  // not written yet
  };
  static void flush(Bucket& bucket);

  int64_t num_pairs_ = 0;
  std::string text_;
  std::array<Bucket, 256> buckets_;
};

}  // namespace weft
