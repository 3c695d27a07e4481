// data/shards/shard.h: reads and writes token shards (docs/formats/shard-format.md): pairs as ids, with offsets.
//
// ShardBuilder collects pairs and writes them as one file, completely or not at all. ShardReader checks the file's
// SHA-256 before HDF5 opens the file, and every count and offset before it is used. Errors have the kind data and name
// the file and the dataset.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/shards/manifest.h"

namespace weft {

struct PairIds {
  std::vector<int32_t> source, target;  // tokens, without bos and eos
  float weight = 1, score = 0;          // stored only if the corpus has these columns
};
struct PairLength {
  int32_t source = 0, target = 0;  // numbers of tokens
};

struct ShardHeader {  // shared by all shards of a corpus
  int64_t source_vocabulary = 0, target_vocabulary = 0;
  std::string source_tokenizer_sha256, target_tokenizer_sha256;
  PairColumns columns;
  int64_t variants = 0;  // Variants::count
};

int narrow_bytes(int64_t vocabulary);  // bytes of an id in this vocabulary: 1, 2 or 4

class ShardBuilder {
 public:
  explicit ShardBuilder(ShardHeader header);

  void add(const PairIds& pair);  // REQUIRES: the variants of a pair are added one after the other
  int64_t num_pairs() const { return static_cast<int64_t>(variants_.back().source.offsets.size()) - 1; }
  ShardEntry write(const std::string& folder, const std::string& file);  // leaves the builder empty

 private:
  struct Side {
    std::vector<int32_t> ids;
    std::vector<uint64_t> offsets = {0};
  };
  struct Texts {
    Side source, target;
  };
  static void move_behind(Side& whole, Side&& part);

  ShardHeader header_;
  std::vector<Texts> variants_;          // at least one
  size_t next_ = 0;                      // the variant that add() takes next
  std::vector<float> weights_, scores_;  // empty without the column
};

struct PairRun {  // consecutive pairs, end to end
  struct Side {
    std::vector<uint64_t> offsets = {0};
    std::vector<int32_t> ids;
    std::span<const int32_t> sentence(int64_t i) const {
      const uint64_t begin = offsets[static_cast<size_t>(i)];
      return std::span(ids).subspan(begin, offsets[static_cast<size_t>(i) + 1] - begin);
    }
  };
  Side source, target;
  std::vector<float> weights, scores;  // empty without the column
};

struct FileIdentity {  // changes when a file is written or replaced
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

class ShardReader {  // keeps the file open during its lifetime
 public:
  // Checks the digest and sets `verified`, unless `verified` is already the identity of the file.
  ShardReader(const std::string& folder, const ShardEntry& entry, const ShardHeader& header,
              std::optional<FileIdentity>& verified);
  ~ShardReader();
  ShardReader(ShardReader&&) noexcept;

  void read_lengths(int64_t first, int64_t count, PairLength* out, int64_t variant = 0);
  void read_scores(int64_t first, int64_t count, float* out);  // REQUIRES: the corpus stores scores
  PairRun read(int64_t first, int64_t count, int64_t variant = 0);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
