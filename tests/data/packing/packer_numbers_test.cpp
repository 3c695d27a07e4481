// tests/data/packing/packer_numbers_test.cpp: weights and scores, from text to the corpus: version 2 of the format.
#include <gtest/gtest.h>

#include "tests/data/packing/packer_fixture.h"

namespace weft::testing {
namespace {

class PackerNumbersTest : public PackerTest {
 protected:
  // Pair i, whose sides begin with i, has weight i / 4 and score -i.
  PackOptions numbered(const std::string& output, int64_t count) {
    std::vector<std::string> lines;
    const std::vector<std::string> text = sentences(count, 5);
    for (int64_t i = 0; i < count; ++i)
      lines.push_back(fmt::format("{}\t{}\t{}\t{}", -i, text[static_cast<size_t>(i)], text[static_cast<size_t>(i)],
                                  static_cast<double>(i) / 4));
    write_file_atomically(folder_ / "pairs.tsv", joined(lines));
    PackOptions o = options(output);
    o.text = {.tsv = folder_ / "pairs.tsv", .columns = "score,source,target,weight"};
    o.shard_pairs = 100;
    return o;
  }
  std::vector<PairIds> pairs_of(const std::string& output) {
    Corpus corpus(folder_ / output);
    std::vector<PairIds> pairs;
    corpus.read_pairs(0, corpus.num_pairs(), pairs);
    return pairs;
  }
};

TEST_F(PackerNumbersTest, StayWithTheirPairs) {
  const PackOptions o = numbered("packed", 700);
  EXPECT_EQ(pack(o, no_progress).manifest.columns, (PairColumns{.weight = true, .score = true}));
  EXPECT_EQ(read_manifest(folder_ / "packed").version, 2);
  const std::vector<std::string> texts = texts_of("packed", false);
  const std::vector<PairIds> pairs = pairs_of("packed");
  ASSERT_EQ(pairs.size(), 700u);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const float number = std::stof(texts[i]);
    EXPECT_EQ(pairs[i].weight, number / 4);
    EXPECT_EQ(pairs[i].score, -number);
  }
}

TEST_F(PackerNumbersTest, MayBeScoresAlone) {
  PackOptions o = numbered("packed", 50);
  o.text.columns = "score,source,target,...";
  o.shuffle = false;
  pack(o, no_progress);
  EXPECT_EQ(read_manifest(folder_ / "packed").columns, (PairColumns{.score = true}));
  EXPECT_EQ(pairs_of("packed")[7].score, -7);
  EXPECT_EQ(pairs_of("packed")[7].weight, 1);
}

TEST_F(PackerNumbersTest, WithoutThemACorpusHasVersion1) {
  write(sentences(50, 5), sentences(50, 6));
  pack(options(), no_progress);
  EXPECT_EQ(read_manifest(folder_ / "packed").version, 1);
  EXPECT_FALSE(holds(read_file(folder_ / "packed/manifest.json"), "columns"));
  EXPECT_EQ(pairs_of("packed")[7].weight, 1);
}

TEST_F(PackerNumbersTest, AreAppendedToTheirKindOnly) {
  PackOptions o = numbered("packed", 150);
  pack(o, no_progress);
  o.tokenizer.clear();
  o.existing = ExistingCorpus::extend;
  pack(o, no_progress);
  EXPECT_EQ(pairs_of("packed").size(), 300u);
  o.text.columns = "score,source,target";
  expect_refused(o, ErrorKind::usage, {"contains weight, score, but the pairs to add contain score"});
}

}  // namespace
}  // namespace weft::testing
