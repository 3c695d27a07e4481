// trainer/validation/noisy_set.cpp: decodes sources, adds noise, encodes them again, and packs the pairs in order.
#include "trainer/validation/noisy_set.h"

#include <algorithm>

#include "data/tags.h"
#include "tensor/error.h"
#include "trainer/inference/pair_blocks.h"

namespace weft {
namespace {

constexpr uint64_t kNoiseSeed = 1;  // not the run's seed, so that the noise is the same in all runs

}  // namespace

NoisySet read_noisy_set(Corpus& corpus, TextNoise noise, const Tokenizer& source, const BlockShape& shape, int dp_rank,
                        int dp_size) {
  std::vector<PairIds> pairs;
  corpus.read_pairs(0, corpus.num_pairs(), pairs);
  NoisySet set{.longest = std::min(shape.source_rows, shape.max_positions) - 1};
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (std::ssize(pairs[i].target) >= std::min(shape.rows, shape.max_positions))
      fail(ErrorKind::data, fmt::format("{}: pair {} has {} target tokens, too many for a block of {} rows: raise "
                                        "batch.rows, or pack the set with shorter pairs",
                                        corpus.folder(), i, pairs[i].target.size(), shape.rows));
    std::vector<int32_t>& ids = pairs[i].source;
    ids = with_changed_text(ids, source, [&](const std::string& text) {
      return with_noise(noise, text, {.seed = kNoiseSeed, .pair = i, .visit = 0});
    });
    if (std::ssize(ids) > set.longest) ids.resize(static_cast<size_t>(set.longest)), ++set.num_cut;
  }
  PairBlocks packed = pack_in_order(pairs, shape.source_rows, shape.rows);
  for (size_t b = 0; b < packed.blocks.size(); ++b)
    if (static_cast<int>(b) % dp_size == dp_rank) set.blocks.push_back(std::move(packed.blocks[b]));
  for (PairIds& pair : pairs) set.sources.push_back(std::move(pair.source));
  return set;
}

}  // namespace weft
