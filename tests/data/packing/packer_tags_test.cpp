// tests/data/packing/packer_tags_test.cpp: tags in front of packed pairs, from options and columns.
#include <gtest/gtest.h>

#include "data/tags.h"
#include "tests/data/packing/packer_fixture.h"

namespace weft::testing {
namespace {

class PackerTagsTest : public PackerTest {
 protected:
  PackerTagsTest() { write(sentences(500, 5), sentences(500, 6)); }

  // A tokenizer with two tags is trained.
  PackOptions training(const std::string& output = "packed") {
    PackOptions o = options(output);
    o.tokenizer.clear();
    o.vocab_size = 400;
    o.reserve_tags = "<2de>,<2fr>";
    o.shuffle = false;
    return o;
  }
  PackOptions with_columns(const std::vector<std::string>& lines, const std::string& columns) {
    write_file_atomically(folder_ / "pairs.tsv", joined(lines));
    PackOptions o = options();
    o.text = {.tsv = folder_ / "pairs.tsv", .columns = columns};
    o.tokenizer = tagged_model();
    o.shuffle = false;
    return o;
  }
  std::string tagged_model() {
    if (!std::filesystem::exists(folder_ / "trained")) pack(training("trained"), no_progress);
    return folder_ / "trained/tokenizer.model";
  }
  std::vector<std::string> shown(const std::string& output, bool target) {
    Corpus corpus(folder_ / output);
    const Tokenizer tokenizer(corpus.folder() + "/tokenizer.model");
    std::vector<PairIds> pairs;
    corpus.read_pairs(0, corpus.num_pairs(), pairs);
    std::vector<std::string> lines;
    for (const PairIds& pair : pairs) lines.push_back(decode_with_tags(target ? pair.target : pair.source, tokenizer));
    return lines;
  }
};

TEST_F(PackerTagsTest, OfOptionsStandBeforeEveryPair) {
  PackOptions o = training();
  o.text.tag = "<2de>";
  o.text.target_tag = "<2fr> <2de>";
  pack(o, no_progress);
  EXPECT_EQ(shown("packed", false)[7], "<2de> " + sentences(500, 5)[7]);
  EXPECT_EQ(shown("packed", true)[7], "<2fr> <2de> " + sentences(500, 6)[7]);
}

TEST_F(PackerTagsTest, AreNoTextOfASideThatHasNone) {
  PackOptions o = options();
  o.tokenizer = tagged_model();
  write({"kalo", "\u200b", "miren"}, {"ren", "tusa", "\u200b"});  // normalisation removes this character
  o.shuffle = false;
  for (const auto& [tag, target_tag] : {std::pair{"", ""}, {"<2de>", ""}, {"<2de>", "<2fr> <2de>"}}) {
    o.text.tag = tag;
    o.text.target_tag = target_tag;
    o.existing = ExistingCorpus::replace;
    EXPECT_EQ(pack(o, no_progress).counts.dropped.count(Fault::empty), 2) << tag << target_tag;
  }
}

TEST_F(PackerTagsTest, OfColumnsStandBeforeTheirPair) {
  pack(with_columns({"<2de>\tkalo\t\tren", "\tkalo\t<2fr>\tren"}, "tag,source,target-tag,target"), no_progress);
  EXPECT_EQ(shown("packed", false), (std::vector<std::string>{"<2de> kalo", "kalo"}));
  EXPECT_EQ(shown("packed", true), (std::vector<std::string>{"ren", "<2fr> ren"}));
}

TEST_F(PackerTagsTest, AreInBothVocabularies) {
  PackOptions o = training();
  o.separate_vocabularies = true;
  o.text.target_tag = "<2fr>";
  pack(o, no_progress);
  for (const char* side : {"source", "target"})
    EXPECT_EQ(tags_of(Tokenizer(folder_ / (std::string("packed/") + side + ".model"))).size(), 2u);
}

TEST_F(PackerTagsTest, MakePairsOfTheSameTextDifferent) {
  PackOptions o = with_columns({"<2de>\tkalo\tren", "<2fr>\tkalo\tren", "<2de>\tkalo\tren"}, "tag,source,target");
  o.filter.drop_duplicates = true;
  EXPECT_EQ(pack(o, no_progress).counts.kept, 2);
}

TEST_F(PackerTagsTest, CountAsTokensAndAreNotCutOff) {
  PackOptions o = with_columns({"<2de>\tkalo ren tu sa vor\tren"}, "tag,source,target");
  o.filter.max_length = 2;
  o.filter.over_long = OverLong::cut;
  const PackSummary summary = pack(o, no_progress);
  EXPECT_EQ(summary.counts.cut, 1);
  EXPECT_EQ(summary.manifest.longest_source, 2);
  EXPECT_TRUE(shown("packed", false)[0].starts_with("<2de> ka"));
}

TEST_F(PackerTagsTest, AreThoseOfAllVariantsAndKeepTheirPairsApart) {
  std::vector<std::string> lines;
  for (int i = 0; i < 50; ++i) lines.push_back(i % 2 == 0 ? "<2de>\tkalo ren\tren" : "<2fr>\tsavor tu\ttu");
  PackOptions o = with_columns(lines, "tag,source,target");
  o.variants = {.count = 3, .bpe_dropout = 0.5, .noise = "upper=0.5", .concatenate = 0.9};
  pack(o, no_progress);
  Corpus corpus(folder_ / "packed");
  const Tokenizer tokenizer(tagged_model());
  for (int64_t variant = 0; variant < 3; ++variant) {
    std::vector<PairIds> pairs;
    corpus.read_pairs(0, corpus.num_pairs(), pairs, variant);
    for (size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(pairs[i].source[0], tag_ids(i % 2 == 0 ? "<2de>" : "<2fr>", tokenizer)[0]);
      EXPECT_EQ(num_leading_tags(pairs[i].source, tokenizer), 1u);
      const std::string text = tokenizer.decode(pairs[i].source), plain = i % 2 == 0 ? "kalo ren" : "savor tu";
      EXPECT_EQ(text.size(), plain.size()) << text;  // another letter case, but no pair before it
    }
  }
}

TEST_F(PackerTagsTest, ThatAreNotReservedAreRefusedBeforeAnythingIsTrained) {
  PackOptions o = training();
  o.text.tag = "<2it>";
  expect_refused(o, ErrorKind::usage, {"--tag: '<2it>' is not a tag", "<2de>, <2fr>", "--reserve-tags"});
  o = with_columns({"<2de>\tkalo\tren", "<2it>\tkalo\tren"}, "tag,source,target");
  expect_refused(o, ErrorKind::data, {"pairs.tsv, line 2: '<2it>' is not a tag", "<2de>, <2fr>"});
  o.tokenizer = small_tokenizer();
  expect_refused(o, ErrorKind::data, {"pairs.tsv, line 1: '<2de>' is not a tag", "whose tags are: none"});
}

TEST_F(PackerTagsTest, AreNotGivenTwice) {
  PackOptions o = with_columns({"<2de>\tkalo\tren"}, "tag,source,target");
  o.text.tag = "<2fr>";
  expect_refused(o, ErrorKind::usage, {"--tag", "--columns already names such a column"});
}

}  // namespace
}  // namespace weft::testing
