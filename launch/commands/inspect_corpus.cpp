// launch/commands/inspect_corpus.cpp: shows the manifest of a packed corpus, and pairs as text.
#include <fmt/format.h>

#include <filesystem>

#include "data/corpus.h"
#include "data/tags.h"
#include "launch/commands/inspect.h"
#include "tensor/error.h"
#include "trainer/display/units.h"
#include "trainer/inference/model_loader.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPairsAtOnce = 1000;

std::string numbers_of(const PairIds& pair, PairColumns columns) {
  return (columns.weight ? fmt::format(", weight {}", pair.weight) : "") +
         (columns.score ? fmt::format(", score {}", pair.score) : "");
}

// Returns pieces instead of text, because variants may differ only in their segmentation.
std::string pieces_of(const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
  std::string text;
  for (const int32_t id : ids) text += (text.empty() ? "" : " ") + tokenizer.piece(id);
  return text;
}

void print_pairs(Corpus& corpus, int64_t first, int64_t count) {
  if (count == 0) return;
  read_tokenizers(corpus.folder(), corpus.manifest());  // throws if a tokenizer is damaged
  const Tokenizers tokenizers = load_tokenizers(corpus.folder());
  const PairColumns columns = corpus.manifest().columns;
  const int64_t variants = corpus.manifest().variants.count;
  std::vector<PairIds> pairs;
  for (int64_t done = 0; variants == 0 && done < count; done += static_cast<int64_t>(pairs.size())) {
    corpus.read_pairs(first + done, std::min(kPairsAtOnce, count - done), pairs);
    for (size_t i = 0; i < pairs.size(); ++i)
      fmt::print("\npair {}: {} and {} tokens{}\n  source  {}\n  target  {}\n", first + done + static_cast<int64_t>(i),
                 pairs[i].source.size(), pairs[i].target.size(), numbers_of(pairs[i], columns),
                 decode_with_tags(pairs[i].source, *tokenizers.source),
                 decode_with_tags(pairs[i].target, *tokenizers.target));
  }
  for (int64_t pair = first; variants > 0 && pair < first + count; ++pair)
    for (int64_t variant = 0; variant < variants; ++variant) {
      corpus.read_pairs(pair, 1, pairs, variant);
      if (variant == 0) fmt::print("\npair {}{}\n", pair, numbers_of(pairs[0], columns));
      fmt::print("  variant {}: {} and {} tokens\n    source  {}\n    target  {}\n", variant, pairs[0].source.size(),
                 pairs[0].target.size(), pieces_of(pairs[0].source, *tokenizers.source),
                 pieces_of(pairs[0].target, *tokenizers.target));
    }
}

std::string made_by(const Variants& variants) {
  std::string text;
  for (const auto& [option, value] : variants.made_by)
    text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", option, value);
  return text;
}

void print_shard(const ShardEntry& shard) {
  fmt::print("  {}  {:>12} pairs  {:>14} source tokens  {:>14} target tokens  sha256 {}\n", shard.file,
             with_commas(shard.num_pairs), with_commas(shard.source_tokens), with_commas(shard.target_tokens),
             shard.sha256.substr(0, 12));
}

}  // namespace

void inspect_corpus(const std::string& folder, int64_t num_pairs) {
  Corpus corpus(folder);
  const Manifest& m = corpus.manifest();
  const auto mean = [&](int64_t tokens) {
    return static_cast<double>(tokens) / static_cast<double>(std::max<int64_t>(m.num_sentences(), 1));
  };
  fmt::print("packed corpus {}, format {}\n", folder, m.version);
  fmt::print("  pairs         {}\n", with_commas(m.num_pairs));
  fmt::print("  source        {} tokens, {:.1f} per sentence, at most {}; vocabulary {} ({})\n",
             with_commas(m.source_tokens), mean(m.source_tokens), m.longest_source, m.source_vocabulary,
             m.source_tokenizer);
  fmt::print("  target        {} tokens, {:.1f} per sentence, at most {}; vocabulary {} ({})\n",
             with_commas(m.target_tokens), mean(m.target_tokens), m.longest_target, m.target_vocabulary,
             m.target_tokenizer);
  fmt::print("  vocabularies  {}\n", m.joint_vocabulary ? "one, joint" : "two, separate");
  if (m.columns.any()) fmt::print("  numbers       {}\n", names_of(m.columns));
  if (m.variants.count > 0) fmt::print("  variants      {} of each pair{}\n", m.variants.count, made_by(m.variants));
  fmt::print("\n");
  for (const ShardEntry& shard : m.shards) print_shard(shard);
  print_pairs(corpus, 0, std::min(num_pairs, m.num_pairs));
}

void inspect_shard(const std::string& file, int64_t num_pairs) {
  const fs::path path(file);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  if (!fs::exists(fs::path(folder) / kManifestFile))
    fail(ErrorKind::data,
         fmt::format("{}: the shard cannot be read, because its folder lacks {} with the SHA-256 of the shard", file,
                     kManifestFile));
  Corpus corpus(folder);
  int64_t first = 0;
  for (const ShardEntry& shard : corpus.manifest().shards) {
    if (shard.file == path.filename().string()) {
      fmt::print("shard of the packed corpus {}, pairs {} to {}\n", folder, first, first + shard.num_pairs - 1);
      print_shard(shard);
      return print_pairs(corpus, first, std::min(num_pairs, shard.num_pairs));
    }
    first += shard.num_pairs;
  }
  fail(ErrorKind::data, fmt::format("{} is not one of the shards listed in {}/{}", file, folder, kManifestFile));
}

}  // namespace weft
