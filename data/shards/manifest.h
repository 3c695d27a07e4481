// data/shards/manifest.h: reads and writes manifest.json of a packed corpus, which lists its files with their SHA-256.
//
// Format: docs/formats/shard-format.md. read_manifest() checks that names are plain, and that counts are in range and
// add up. The manifest is written last and atomically, so a folder without a manifest is not a corpus.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft {

struct ShardEntry {
  std::string file;    // relative to the corpus folder
  std::string sha256;  // hash of the whole file, lower-case hex
  int64_t num_pairs = 0, source_tokens = 0, target_tokens = 0;
};

struct Creation {  // how a corpus was made; for people who read the file, and never parsed
  std::string source_file, target_file;
  uint64_t seed = 0;
  bool shuffled = true;
  int64_t max_length = 0;
  std::string over_long;
  int64_t shard_pairs = 0;
  std::string tag, target_tag;                           // tags of every pair
  int64_t documents = 0;                                 // max tokens of joined sentences
  std::vector<std::pair<std::string, int64_t>> dropped;  // reasons, and numbers of dropped pairs
};

struct PairColumns {  // the numbers that a corpus stores per pair
  bool weight = false, score = false;
  bool any() const { return weight || score; }
  bool operator==(const PairColumns&) const = default;
};
std::string names_of(PairColumns columns);  // "weight, score", "none"

struct Variants {                              // alternative texts of the same pair
  int64_t count = 0;                           // 0: one text per pair
  std::map<std::string, std::string> made_by;  // options of `weft pack`, by name
};
inline constexpr int64_t kMaxVariants = 1000;

struct Manifest {
  int64_t version = 1;  // 2 with columns, 3 with variants
  PairColumns columns;
  Variants variants;
  bool joint_vocabulary = true;  // ids have the same meaning on both sides
  int64_t source_vocabulary = 0, target_vocabulary = 0;
  std::string source_tokenizer, target_tokenizer;  // files in the folder; one or two
  std::string source_tokenizer_sha256, target_tokenizer_sha256;
  int64_t num_pairs = 0, source_tokens = 0, target_tokens = 0;  // tokens of all variants, without bos and eos
  int64_t longest_source = 0, longest_target = 0;
  std::string references_sha256;  // of kReferencesFile; empty if the corpus has none
  std::vector<ShardEntry> shards;
  std::string sha256;  // hash of the file that was read; it identifies the corpus

  int64_t num_variants() const { return std::max<int64_t>(1, variants.count); }
  int64_t num_sentences() const { return num_pairs * num_variants(); }  // sentences per side
  // Both return the mean tokens per side and epoch, with eos. An epoch contains one variant of each pair.
  int64_t source_rows() const { return source_tokens / num_variants() + num_pairs; }
  int64_t target_rows() const { return target_tokens / num_variants() + num_pairs; }
  // Returns the mean over pairs of the tokens of both sides together, without eos.
  int64_t tokens_of_pair() const { return (source_tokens + target_tokens) / std::max<int64_t>(num_sentences(), 1); }
};

int64_t format_version(PairColumns columns, const Variants& variants);  // the lowest version that supports both

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kReferencesFile = "references.txt";  // raw target of each pair, one per line

Manifest read_manifest(const std::string& folder);  // throws a data Error that names the file and the field
void write_manifest(const std::string& folder, const Manifest& manifest, const Creation& creation);
// Replaces a manifest, keeps the record of how the corpus was made, and appends `added` to this record.
void extend_manifest(const std::string& folder, const Manifest& manifest, const Creation& added);

}  // namespace weft
