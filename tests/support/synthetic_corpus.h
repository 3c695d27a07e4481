// tests/support/synthetic_corpus.h: a packed corpus in a temporary folder, with known ids.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/corpus.h"
#include "data/shards/manifest.h"
#include "data/shards/shard.h"
#include "tensor/random.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {

class SyntheticCorpus {
 public:
  static constexpr int64_t kVocabulary = 1000;

  struct Numbers {  // of a pair; not given: without
    std::function<float(int64_t)> weight, score;
  };

  SyntheticCorpus(std::vector<PairLength> lengths, int64_t pairs_per_shard, Numbers numbers)
      : SyntheticCorpus(std::move(lengths), pairs_per_shard, /*variants=*/0, std::move(numbers)) {}
  // `lengths`: of each pair's first variant; another one has as many source tokens more as its number says.
  explicit SyntheticCorpus(std::vector<PairLength> lengths, int64_t pairs_per_shard = 1000, int64_t variants = 0)
      : SyntheticCorpus(std::move(lengths), pairs_per_shard, variants, Numbers()) {}
  SyntheticCorpus(std::vector<PairLength> lengths, int64_t pairs_per_shard, int64_t variants, Numbers numbers)
      : lengths_(std::move(lengths)), numbers_(std::move(numbers)) {
    Manifest manifest;
    manifest.columns = {.weight = numbers_.weight != nullptr, .score = numbers_.score != nullptr};
    manifest.variants.count = variants;
    manifest.version = format_version(manifest.columns, manifest.variants);
    manifest.source_vocabulary = manifest.target_vocabulary = kVocabulary;
    manifest.source_tokenizer = manifest.target_tokenizer = "tokenizer.model";
    manifest.source_tokenizer_sha256 = manifest.target_tokenizer_sha256 = std::string(64, '0');
    for (int64_t first = 0; first < num_pairs(); first += pairs_per_shard) {
      ShardBuilder builder({.source_vocabulary = kVocabulary,
                            .target_vocabulary = kVocabulary,
                            .source_tokenizer_sha256 = manifest.source_tokenizer_sha256,
                            .target_tokenizer_sha256 = manifest.target_tokenizer_sha256,
                            .columns = manifest.columns,
                            .variants = variants});
      for (int64_t i = first; i < std::min(first + pairs_per_shard, num_pairs()); ++i)
        for (int64_t variant = 0; variant < manifest.num_variants(); ++variant) builder.add(pair(i, variant));
      const ShardEntry entry = builder.write(folder(), "shard-" + std::to_string(manifest.shards.size()) + ".h5");
      manifest.num_pairs += entry.num_pairs;
      manifest.source_tokens += entry.source_tokens;
      manifest.target_tokens += entry.target_tokens;
      manifest.shards.push_back(entry);
    }
    for (const PairLength& length : lengths_) {
      manifest.longest_source = std::max(manifest.longest_source, length.source + manifest.num_variants() - 1);
      manifest.longest_target = std::max<int64_t>(manifest.longest_target, length.target);
    }
    write_manifest(folder(), manifest, {});
  }

  const std::string& folder() const { return folder_.path(); }
  int64_t num_pairs() const { return static_cast<int64_t>(lengths_.size()); }
  PairLength length(int64_t number) const { return lengths_.at(static_cast<size_t>(number)); }
  std::string shard_file(int64_t shard) const { return folder_ / ("shard-" + std::to_string(shard) + ".h5"); }

  PairIds pair(int64_t number, int64_t variant = 0) const {
    const int64_t text = number + variant * 1'000'003;
    return {.source = ids(text, length(number).source + static_cast<int32_t>(variant), /*side=*/0),
            .target = ids(text, length(number).target, /*side=*/1),
            .weight = numbers_.weight ? numbers_.weight(number) : 1,
            .score = numbers_.score ? numbers_.score(number) : 0};
  }

 private:
  static std::vector<int32_t> ids(int64_t number, int32_t length, uint32_t side) {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < length; ++i) {
      const uint32_t bits = random_bits(static_cast<uint64_t>(number), static_cast<uint64_t>(i), side, 0);
      ids.push_back(static_cast<int32_t>(3 + bits % (kVocabulary - 3)));
    }
    return ids;
  }

  std::vector<PairLength> lengths_;
  Numbers numbers_;
  TemporaryFolder folder_;
};

}  // namespace weft::testing
