// data/corpus.h: a packed corpus as a folder: manifest.json, token shards (docs/shard-format.md), tokenizer models.
//
// Pairs are numbered 0 .. num_pairs - 1 over all shards in the manifest's order. A shard's SHA-256 is checked before
// HDF5 opens it, once, when its first pair is asked for. Any damage is an Error of kind data that names the file.
// One Corpus is used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft {

struct ShardEntry {
  std::string file;    // relative to the corpus folder
  std::string sha256;  // of the whole file, lower-case hex
  int64_t num_pairs = 0, source_pieces = 0, target_pieces = 0;
};

struct Manifest {
  int64_t version = 1;
  bool joint_vocabulary = true;
  int64_t source_vocabulary = 0, target_vocabulary = 0;
  std::string source_tokenizer, target_tokenizer;  // files in the folder; equal for a joint vocabulary
  std::string source_tokenizer_sha256, target_tokenizer_sha256;
  int64_t num_pairs = 0, source_pieces = 0, target_pieces = 0;  // pieces without bos and eos
  int64_t longest_source = 0, longest_target = 0;
  std::vector<ShardEntry> shards;
};

struct PairIds {
  std::vector<int32_t> source, target;  // pieces without bos and eos
};
struct PairLength {
  int32_t source = 0, target = 0;  // numbers of pieces
};

class Corpus {
 public:
  explicit Corpus(const std::string& folder);
  ~Corpus();
  Corpus(Corpus&&) noexcept;

  const std::string& folder() const;
  const Manifest& manifest() const;
  int64_t num_pairs() const { return manifest().num_pairs; }

  // `out` is overwritten. A run of pairs may cross shards. Memory: what is asked for, plus HDF5's chunk cache.
  void read_lengths(int64_t first, int64_t count, std::vector<PairLength>& out);
  void read_pairs(int64_t first, int64_t count, std::vector<PairIds>& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
