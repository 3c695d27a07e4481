// data/corpus.h: reads a packed corpus: manifest.json, shards (docs/formats/shard-format.md) and tokenizer models.
//
// Pairs are numbered 0 .. num_pairs - 1 over all shards in the manifest's order. A shard's SHA-256 is checked before
// HDF5 opens it: when its first pair is read, and again if the file has changed since. Damage throws a data Error that
// names the file. REQUIRES: only one thread uses a Corpus.
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

  size_t cache_bytes() const;      // estimate with a full cache of pages
  int64_t tokens_of_pair() const;  // mean over pairs, both sides together

  // Checks the digests of shards that have not been read yet, one after the other, until a stop is requested. Another
  // thread may call it before the reading thread starts.
  void verify_shards(const std::stop_token& stop);
  // Throws if a shard is missing, or has been replaced since it was verified. Reads only replaced shards.
  void require_shards();
  void close_shards();  // frees their memory; verified shards stay verified

  // Overwrites `out`. A run of pairs may cross shards. Memory: the requested pairs and bounded caches. REQUIRES:
  // `variant` is below the manifest's num_variants().
  void read_lengths(int64_t first, int64_t count, std::vector<PairLength>& out, int64_t variant = 0);
  void read_scores(int64_t first, int64_t count, std::vector<float>& out);  // REQUIRES: the corpus stores scores
  void read_pairs(int64_t first, int64_t count, std::vector<PairIds>& out, int64_t variant = 0);
  void append_pair(int64_t pair, int64_t variant, PairRun& to);  // without its score

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the tokenizer models of a corpus: file name -> contents. Checks each against the manifest's SHA-256. Throws a
// data Error that names a damaged or replaced model.
std::map<std::string, std::string> read_tokenizers(const std::string& folder, const Manifest& manifest);

}  // namespace weft
