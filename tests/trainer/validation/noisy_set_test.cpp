// tests/trainer/validation/noisy_set_test.cpp: blocks and sources of a noisy copy.
#include "trainer/validation/noisy_set.h"

#include <gtest/gtest.h>

#include "data/corpus.h"
#include "data/noise/letter_case.h"
#include "tests/support/errors.h"
#include "tests/support/text_corpus.h"

namespace weft::testing {
namespace {

struct NoisyText {
  NoisySet read(TextNoise noise, const BlockShape& shape, int rank = 0, int size = 1) const {
    Corpus corpus(text.folder());
    return read_noisy_set(corpus, noise, *tokenizers.source, shape, rank, size);
  }
  std::vector<PairIds> pairs() const {
    std::vector<PairIds> all;
    Corpus corpus(text.folder());
    corpus.read_pairs(0, corpus.num_pairs(), all);
    return all;
  }
  const TextCorpus text{/*num_pairs=*/40};
  const Tokenizers tokenizers = load_tokenizers(text.folder());
};

const NoisyText& noisy_text() {
  static const NoisyText text;
  return text;
}

TEST(NoisySet, ChangesSourcesAndKeepsTargets) {
  const NoisySet set = noisy_text().read(TextNoise::upper, {.source_rows = 256, .rows = 64, .max_positions = 256});
  const std::vector<PairIds> pairs = noisy_text().pairs();
  const Tokenizer& tokenizer = *noisy_text().tokenizers.source;
  ASSERT_EQ(set.sources.size(), pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i)
    EXPECT_EQ(set.sources[i], tokenizer.encode(upper_case(tokenizer.decode(pairs[i].source))));
  int64_t target_tokens = 0, sentences = 0, expected = 0;
  for (const Block& block : set.blocks) target_tokens += block.target_tokens(), sentences += block.num_sentences();
  for (const PairIds& pair : pairs) expected += std::ssize(pair.target) + 1;
  EXPECT_EQ(sentences, 40);
  EXPECT_EQ(target_tokens, expected);
  EXPECT_EQ(set.num_cut, 0);
}

TEST(NoisySet, CutsSourcesThatABlockDoesNotHold) {
  for (const BlockShape& shape : {BlockShape{.source_rows = 16, .rows = 64, .max_positions = 99},
                                  {.source_rows = 64, .rows = 64, .max_positions = 64}}) {
    const NoisySet set = noisy_text().read(TextNoise::upper, shape);
    const int64_t longest = std::min(shape.source_rows, shape.max_positions) - 1;
    EXPECT_EQ(set.longest, longest);
    int64_t cut = 0;
    for (const auto& source : set.sources) {
      EXPECT_LE(std::ssize(source), longest);
      cut += std::ssize(source) == longest;
    }
    EXPECT_LE(set.num_cut, cut);
    EXPECT_EQ(set.num_cut > 0, shape.source_rows == 16);
  }
}

TEST(NoisySet, IsDividedAmongRanks) {
  const BlockShape shape{.source_rows = 64, .rows = 64, .max_positions = 64};
  const NoisySet all = noisy_text().read(TextNoise::typos, shape);
  ASSERT_GE(all.blocks.size(), 3u);
  for (int rank = 0; rank < 2; ++rank) {
    const NoisySet own = noisy_text().read(TextNoise::typos, shape, rank, 2);
    EXPECT_EQ(own.sources, all.sources);
    for (size_t b = 0; b < own.blocks.size(); ++b) {
      EXPECT_EQ(own.blocks[b].index, static_cast<int64_t>(2 * b) + rank);
      EXPECT_EQ(own.blocks[b].source, all.blocks[2 * b + static_cast<size_t>(rank)].source);
    }
  }
}

TEST(NoisySet, RefusesATargetThatABlockDoesNotHold) {
  const std::string said = message_of(ErrorKind::data, [] {
    noisy_text().read(TextNoise::lower, {.source_rows = 64, .rows = 8, .max_positions = 64});
  });
  EXPECT_TRUE(holds(said, "target tokens, too many for a block of 8 rows: raise batch.rows")) << said;
}

}  // namespace
}  // namespace weft::testing
