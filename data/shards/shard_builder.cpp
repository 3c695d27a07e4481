// data/shards/shard_builder.cpp: writes pairs to a token shard.
#include <filesystem>

#include "data/atomic_file.h"
#include "data/sha256.h"
#include "data/shards/hdf5_image.h"
#include "data/shards/shard.h"
#include "tensor/error.h"

namespace weft {

int narrow_bytes(int64_t vocabulary) { return vocabulary <= 256 ? 1 : vocabulary <= 65536 ? 2 : 4; }

void ShardBuilder::add(const PairIds& pair) {
  const auto append = [](Side& side, const std::vector<int32_t>& ids) {
    side.ids.insert(side.ids.end(), ids.begin(), ids.end());
    side.offsets.push_back(side.ids.size());
  };
  append(source_, pair.source);
  append(target_, pair.target);
  if (header_.columns.weight) weights_.push_back(pair.weight);
  if (header_.columns.score) scores_.push_back(pair.score);
}

ShardEntry ShardBuilder::write(const std::string& folder, const std::string& file) {
  ShardEntry entry{.file = file,
                   .sha256 = {},
                   .num_pairs = num_pairs(),
                   .source_tokens = static_cast<int64_t>(source_.ids.size()),
                   .target_tokens = static_cast<int64_t>(target_.ids.size())};
  Hdf5Image image;
  image.add_attribute("format_version", header_.columns.any() ? 2 : 1);
  image.add_attribute("num_pairs", static_cast<uint64_t>(entry.num_pairs));
  image.add_attribute("source_vocabulary", static_cast<uint64_t>(header_.source_vocabulary));
  image.add_attribute("target_vocabulary", static_cast<uint64_t>(header_.target_vocabulary));
  image.add_attribute("source_tokenizer_sha256", header_.source_tokenizer_sha256);
  image.add_attribute("target_tokenizer_sha256", header_.target_tokenizer_sha256);
  image.add_ids("source_pieces", source_.ids, narrow_bytes(header_.source_vocabulary));
  image.add_offsets("source_offsets", source_.offsets);
  image.add_ids("target_pieces", target_.ids, narrow_bytes(header_.target_vocabulary));
  image.add_offsets("target_offsets", target_.offsets);
  if (header_.columns.weight) image.add_numbers("weights", weights_);
  if (header_.columns.score) image.add_numbers("scores", scores_);
  source_ = {};
  target_ = {};
  weights_ = scores_ = {};

  const std::string_view bytes = image.finish();
  write_file_atomically((std::filesystem::path(folder) / file).string(), bytes);
  entry.sha256 = sha256_of(bytes);
  return entry;
}

}  // namespace weft
