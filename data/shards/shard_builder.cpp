// data/shards/shard_builder.cpp: writes pairs to a token shard.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "data/atomic_file.h"
#include "data/sha256.h"
#include "data/shards/hdf5_image.h"
#include "data/shards/shard.h"
#include "tensor/error.h"

namespace weft {

int narrow_bytes(int64_t vocabulary) { return vocabulary <= 256 ? 1 : vocabulary <= 65536 ? 2 : 4; }

ShardBuilder::ShardBuilder(ShardHeader header)
    : header_(std::move(header)), variants_(static_cast<size_t>(std::max<int64_t>(1, header_.variants))) {}

void ShardBuilder::add(const PairIds& pair) {
  const auto append = [](Side& side, const std::vector<int32_t>& ids) {
    side.ids.insert(side.ids.end(), ids.begin(), ids.end());
    side.offsets.push_back(side.ids.size());
  };
  append(variants_[next_].source, pair.source);
  append(variants_[next_].target, pair.target);
  const bool is_first = next_ == 0;
  next_ = (next_ + 1) % variants_.size();
  if (!is_first) return;
  if (header_.columns.weight) weights_.push_back(pair.weight);
  if (header_.columns.score) scores_.push_back(pair.score);
}

void ShardBuilder::move_behind(Side& whole, Side&& part) {
  const uint64_t begin = whole.ids.size();
  whole.ids.insert(whole.ids.end(), part.ids.begin(), part.ids.end());
  for (size_t i = 1; i < part.offsets.size(); ++i) whole.offsets.push_back(begin + part.offsets[i]);
  part = {};  // frees its memory
}

ShardEntry ShardBuilder::write(const std::string& folder, const std::string& file) {
  ShardEntry entry{.file = file, .sha256 = {}, .num_pairs = num_pairs(), .source_tokens = 0, .target_tokens = 0};
  Side &source = variants_[0].source, &target = variants_[0].target;
  for (size_t v = 1; v < variants_.size(); ++v) {
    move_behind(source, std::move(variants_[v].source));
    move_behind(target, std::move(variants_[v].target));
  }
  entry.source_tokens = static_cast<int64_t>(source.ids.size());
  entry.target_tokens = static_cast<int64_t>(target.ids.size());
  Hdf5Image image;
  image.add_attribute("format_version", static_cast<uint64_t>(format_version(
                                            header_.columns, {.count = header_.variants, .made_by = {}})));
  image.add_attribute("num_pairs", static_cast<uint64_t>(entry.num_pairs));
  if (header_.variants > 0) image.add_attribute("num_variants", static_cast<uint64_t>(header_.variants));
  image.add_attribute("source_vocabulary", static_cast<uint64_t>(header_.source_vocabulary));
  image.add_attribute("target_vocabulary", static_cast<uint64_t>(header_.target_vocabulary));
  image.add_attribute("source_tokenizer_sha256", header_.source_tokenizer_sha256);
  image.add_attribute("target_tokenizer_sha256", header_.target_tokenizer_sha256);
  image.add_ids("source_pieces", source.ids, narrow_bytes(header_.source_vocabulary));
  image.add_offsets("source_offsets", source.offsets);
  image.add_ids("target_pieces", target.ids, narrow_bytes(header_.target_vocabulary));
  image.add_offsets("target_offsets", target.offsets);
  if (header_.columns.weight) image.add_numbers("weights", weights_);
  if (header_.columns.score) image.add_numbers("scores", scores_);
  variants_.assign(variants_.size(), {});
  weights_ = scores_ = {};

  const std::string_view bytes = image.finish();
  write_file_atomically((std::filesystem::path(folder) / file).string(), bytes);
  entry.sha256 = sha256_of(bytes);
  return entry;
}

}  // namespace weft
