// tests/data/packing/packer_documents_test.cpp: consecutive sentences of a document, joined into one pair.
#include <gtest/gtest.h>

#include "data/tags.h"
#include "tests/data/packing/packer_fixture.h"

namespace weft::testing {
namespace {

using Lines = std::vector<std::string>;

class PackerDocumentsTest : public PackerTest {
 protected:
  // Joins up to `longest` tokens; the tokenizer spells "ka" and "lo" with a token each.
  PackOptions documents(int64_t longest) {
    if (!std::filesystem::exists(folder_ / "sep.model"))
      write_file_atomically(
          folder_ / "sep.model",
          train_tokenizer(Lines(50, "ka lo mi ka lo mi"), {.vocab_size = 275, .tags = {kSeparator, "<2de>", "<2fr>"}}));
    PackOptions o = options();
    o.tokenizer = folder_ / "sep.model";
    o.shuffle = false;
    o.documents = longest;
    return o;
  }
  PackOptions with_columns(int64_t longest, const Lines& lines, const std::string& columns) {
    write_file_atomically(folder_ / "pairs.tsv", joined(lines));
    PackOptions o = documents(longest);
    o.text = {.tsv = folder_ / "pairs.tsv", .columns = columns};
    return o;
  }
  std::vector<PairIds> pairs() {
    Corpus corpus(folder_ / "packed");
    std::vector<PairIds> all;
    corpus.read_pairs(0, corpus.num_pairs(), all);
    return all;
  }
  Lines shown(bool target) {
    const Tokenizer tokenizer(folder_ / "packed/tokenizer.model");
    Lines lines;
    for (const PairIds& pair : pairs())
      lines.push_back(decode_with_tags(target ? pair.target : pair.source, tokenizer));
    return lines;
  }
};

TEST_F(PackerDocumentsTest, JoinSentencesUpToTheirTokensOnEachSide) {
  write({"ka", "lo", "mi", "ka"}, {"ka", "lo lo lo", "mi", "mi"});
  const PackSummary summary = pack(documents(5), no_progress);
  EXPECT_EQ(shown(false), (Lines{"ka <sep> lo", "mi <sep> ka"}));
  EXPECT_EQ(shown(true), (Lines{"ka <sep> lo lo lo", "mi <sep> mi"}));
  EXPECT_EQ(summary.counts.kept, 4);
  EXPECT_EQ(summary.counts.packed, 2);
  EXPECT_EQ(summary.manifest.num_pairs, 2);
  EXPECT_EQ(summary.manifest.longest_target, 5);
  EXPECT_TRUE(holds(read_file(folder_ / "packed/manifest.json"), "\"documents\": 5"));
}

TEST_F(PackerDocumentsTest, EndAtEmptyLines) {
  write({"ka", "lo", "", " ", "mi", "ka"}, {"ka", "lo", "", "", "mi", "ka"});
  const PackSummary summary = pack(documents(50), no_progress);
  EXPECT_EQ(shown(false), (Lines{"ka <sep> lo", "mi <sep> ka"}));
  EXPECT_EQ(summary.counts.borders, 2);
  EXPECT_EQ(summary.counts.dropped.count(Fault::empty), 0);
}

TEST_F(PackerDocumentsTest, EndWhereAPairIsDropped) {
  write({"ka", "lo", "lo", "mi"}, {"ka", "lo", "", "mi"});
  const PackSummary summary = pack(documents(50), no_progress);
  EXPECT_EQ(shown(false), (Lines{"ka <sep> lo", "mi"}));
  EXPECT_EQ(summary.counts.dropped.count(Fault::empty), 1);
}

TEST_F(PackerDocumentsTest, EndWhereTheirColumnChanges) {
  pack(with_columns(50, {"a\tka\tka", "a\tlo\tlo", "b\tmi\tmi", "a\tka\tka"}, "document,source,target"), no_progress);
  EXPECT_EQ(shown(false), (Lines{"ka <sep> lo", "mi", "ka"}));
}

TEST_F(PackerDocumentsTest, HaveOneTagEach) {
  pack(with_columns(50, {"<2de>\tka\tka", "<2de>\tlo\tlo", "<2fr>\tmi\tmi", "<2fr>\tka\tka"}, "tag,source,target"),
       no_progress);
  EXPECT_EQ(shown(false), (Lines{"<2de> ka <sep> lo", "<2fr> mi <sep> ka"}));
}

TEST_F(PackerDocumentsTest, LeaveALongSentenceAlone) {
  write({"ka", "lo lo lo lo lo lo", "mi", "ka"}, {"ka", "lo", "mi", "ka"});
  pack(documents(4), no_progress);
  EXPECT_EQ(shown(false), (Lines{"ka", "lo lo lo lo lo lo", "mi <sep> ka"}));
}

TEST_F(PackerDocumentsTest, HaveTheMeanOfTheirWeightsAndScores) {
  pack(with_columns(50, {"ka\tka\t1\t-1", "lo\tlo\t2\t-2", "mi\tmi\t6\t-6"}, "source,target,weight,score"),
       no_progress);
  ASSERT_EQ(pairs().size(), 1u);
  EXPECT_FLOAT_EQ(pairs()[0].weight, 3);
  EXPECT_FLOAT_EQ(pairs()[0].score, -3);
}

TEST_F(PackerDocumentsTest, AreTheSameForAnyNumberOfThreads) {
  write(sentences(5000, 3), sentences(5000, 4));
  PackOptions o = options("one");
  o.tokenizer.clear();
  o.vocab_size = 400;
  o.documents = 60;
  pack(o, no_progress);
  o.output = folder_ / "three";
  o.threads = 3;
  const PackSummary summary = pack(o, no_progress);
  expect_same_bytes("one", "three");
  EXPECT_LT(summary.manifest.num_pairs, 3000);
  EXPECT_LE(summary.manifest.longest_source, 60);
}

TEST_F(PackerDocumentsTest, NeedATokenizerWithTheSeparator) {
  write({"ka"}, {"ka"});
  PackOptions o = documents(50);
  o.tokenizer = small_tokenizer();
  expect_refused(o, ErrorKind::usage, {"--documents: '<sep>' is not a tag of the tokenizer", "--reserve-tags"});
}

TEST_F(PackerDocumentsTest, HaveNoVariants) {
  write({"ka"}, {"ka"});
  PackOptions o = documents(50);
  o.variants = {.count = 2, .bpe_dropout = 0.1};
  expect_refused(o, ErrorKind::usage, {"--documents", "--variants", "leave out one option"});
}

TEST_F(PackerDocumentsTest, RefuseAColumnThatNothingReads) {
  expect_refused(with_columns(0, {"a\tka\tka"}, "document,source,target"), ErrorKind::usage,
                 {"the column 'document' needs --documents", "--documents"});
}

}  // namespace
}  // namespace weft::testing
