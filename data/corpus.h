// data/corpus.h: reads a packed corpus: manifest.json, shards (docs/formats/shard-format.md) and tokenizer models.
//
// Pairs are numbered 0 .. num_pairs - 1 over all shards in the manifest's order. Before HDF5 opens a shard, its SHA-256
// is checked, but only once as long as the file does not change. A damaged file causes a data Error that names the
// file. REQUIRES: only one thread uses a Corpus.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "data/shards/manifest.h"
#include "data/shards/shard.h"  // PairIds, PairLength

namespace weft {

class Corpus {
 public:
  explicit Corpus(const std::string& folder);
  ~Corpus();
  Corpus(Corpus&&) noexcept;

  const std::string& folder() const;
  const Manifest& manifest() const;
  int64_t num_pairs() const { return manifest().num_pairs; }

  // Checks the digests of shards that have not been read yet, one after the other, until a stop is requested. Another
  // thread may call this before the reading thread starts.
  void verify_shards(const std::stop_token& stop);
  // Throws if a shard is missing, or if a verified shard has been replaced by different data. Reads only changed files.
  void require_shards();
  void close_shards();  // frees the shards' memory; verified shards stay verified

  // These functions overwrite `out`. The requested pairs may span several shards. REQUIRES: `variant` is below the
  // manifest's num_variants().
  void read_lengths(int64_t first, int64_t count, std::vector<PairLength>& out, int64_t variant = 0);
  void read_scores(int64_t first, int64_t count, std::vector<float>& out);  // REQUIRES: the corpus stores scores
  void read_pairs(int64_t first, int64_t count, std::vector<PairIds>& out, int64_t variant = 0);
  void append_pair(int64_t pair, int64_t variant, PairRun& to);  // appends one pair without its score

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

size_t cache_bytes(const Manifest& manifest);  // returns the estimated memory of a Corpus when its caches are full

// Returns the tokenizer models of a corpus: file name -> contents. Throws a data Error that names the model if its
// SHA-256 differs from the manifest's.
std::map<std::string, std::string> read_tokenizers(const std::string& folder, const Manifest& manifest);

// Returns the raw targets of the pairs, or nothing if the corpus stores none. Throws a data Error if they are damaged.
std::vector<std::string> read_references(const std::string& folder, const Manifest& manifest);

}  // namespace weft
