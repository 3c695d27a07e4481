// trainer/plan/planned_data.cpp: adds up the memory of a run's data, from the manifests of its corpora.
#include "trainer/plan/planned_data.h"

#include <algorithm>
#include <filesystem>

namespace weft {
namespace {

// A tokenizer stores its vocabulary three times: as text, as a table and as a trie. Measured with 1,000 to 32,000
// entries.
constexpr size_t kMemoryPerByteOfFile = 12;

// Size of tokenizer files that `weft pack` made: the table of normalizations, and each entry.
constexpr size_t kNormalizations = 240'000, kBytesOfEntry = 15;

constexpr int64_t kTokensOfSentence = 27;  // mean of news text without eos (trainer/bench/synthetic_step.h)

Manifest news_text(int64_t num_pairs, size_t num_shards) {
  Manifest m;
  m.num_pairs = num_pairs;
  m.source_tokens = m.target_tokens = kTokensOfSentence * num_pairs;
  m.shards.resize(num_shards);
  return m;
}

size_t tokenizer_files(const Corpus& corpus) {
  const Manifest& m = corpus.manifest();
  const auto bytes = [&](const std::string& name) { return std::filesystem::file_size(corpus.folder() + "/" + name); };
  const size_t source = bytes(m.source_tokenizer);
  return m.source_tokenizer == m.target_tokenizer ? source : source + bytes(m.target_tokenizer);
}

}  // namespace

PlannedData planned_data(const ResolvedRun& run) {
  PlannedData data;
  for (const Stage& stage : run.stages) {
    std::vector<PlannedCorpus>& mix = data.mixes.emplace_back();
    for (const MixCorpus& corpus : stage.corpora) mix.push_back({corpus.manifest(), corpus.weight});
  }
  for (const ValidationSet& set : run.valid) data.valid.push_back(set.opened->manifest());
  if (translates(run.config)) data.tokenizers = tokenizer_files(*run.valid.front().opened);
  return data;
}

PlannedData assumed_data(const RunConfig& c, int64_t valid_sentences) {
  PlannedData data{.mixes = {{{news_text(/*num_pairs=*/1'000'000, /*num_shards=*/10), 1}}}};
  if (validates(c)) data.valid.push_back(news_text(valid_sentences, /*num_shards=*/1));
  if (translates(c))
    data.tokenizers =
        kNormalizations + kBytesOfEntry * static_cast<size_t>(c.model.source_vocabulary + c.model.target_vocabulary);
  return data;
}

size_t data_bytes(const PlannedData& data, const RunConfig& c) {
  const auto dp = static_cast<int>(c.parallel.dp);
  size_t bytes = kMemoryPerByteOfFile * data.tokenizers, of_mix = 0;
  for (const auto& mix : data.mixes) of_mix = std::max(of_mix, read_ahead_bytes(mix, c.batch, dp));  // one at a time
  for (const Manifest& set : data.valid) bytes += all_blocks_bytes(set, c.batch, dp);
  return bytes + of_mix;
}

}  // namespace weft
