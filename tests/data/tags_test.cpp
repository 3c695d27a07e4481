// tests/data/tags_test.cpp: tags are tokens that no text becomes, and that no text shows.
#include "data/tags.h"

#include <gtest/gtest.h>

#include "data/batch.h"
#include "tests/data/sentencepiece_model.h"

namespace weft {
namespace {

using testing::expect_error;
using testing::sentences;
using testing::TemporaryFolder;
using Ids = std::vector<int32_t>;

class TagsTest : public ::testing::Test {
 protected:
  TagsTest()
      : tokenizer_([&] {
          write_file_atomically(folder_ / "tags.model",
                                train_tokenizer(sentences(500, 1), {.vocab_size = 400, .tags = {"<2de>", ">>fr<<"}}));
          return folder_ / "tags.model";
        }()) {}
  TemporaryFolder folder_;
  Tokenizer tokenizer_;
};

TEST_F(TagsTest, AreTokensOfTheirOwnAfterTheSpecialIds) {
  EXPECT_EQ(tokenizer_.size(), 400);
  EXPECT_EQ(tags_of(tokenizer_), (std::vector<std::string>{"<2de>", ">>fr<<"}));
  EXPECT_EQ(tag_ids(" >>fr<< <2de>", tokenizer_), (Ids{SpecialIds::eos + 2, SpecialIds::eos + 1}));
  EXPECT_EQ(tag_ids("", tokenizer_), Ids());
  for (const int32_t special : {SpecialIds::unk, SpecialIds::bos, SpecialIds::eos})
    EXPECT_FALSE(tokenizer_.is_tag(special));
}

TEST_F(TagsTest, AreNotFoundInText) {
  for (const char* text : {"<2de>", "<2de> kalo", "kalo <2de>", ">>fr<< kalo"}) {
    const Ids ids = tokenizer_.encode(text);
    EXPECT_EQ(num_leading_tags(ids, tokenizer_), 0u) << text;
    for (const int32_t id : ids) EXPECT_FALSE(tokenizer_.is_tag(id)) << text;
    EXPECT_EQ(tokenizer_.decode(ids), text);
  }
}

TEST_F(TagsTest, StandBeforeTheTextAndLeaveItAsItIs) {
  const Ids plain = tokenizer_.encode("kalo <2de>"), ids = encode_with_tags("<2de> >>fr<<", "kalo <2de>", tokenizer_);
  EXPECT_EQ(num_leading_tags(ids, tokenizer_), 2u);
  EXPECT_EQ(Ids(ids.begin() + 2, ids.end()), plain);
  EXPECT_EQ(tokenizer_.decode(ids), "kalo <2de>");
  EXPECT_EQ(decode_with_tags(ids, tokenizer_), "<2de> >>fr<< kalo <2de>");
}

TEST_F(TagsTest, BetweenSentencesLeaveASpace) {
  Ids ids = tokenizer_.encode("kalo");
  ids.push_back(tag_ids("<2de>", tokenizer_)[0]);
  for (const int32_t id : tokenizer_.encode("ren")) ids.push_back(id);
  EXPECT_EQ(tokenizer_.decode(ids), "kalo ren");
  EXPECT_EQ(decode_with_tags(ids, tokenizer_), "kalo <2de> ren");
}

TEST_F(TagsTest, ThatATokenizerLacksAreRefused) {
  expect_error([&] { tag_ids("<2de> <2xx>", tokenizer_); }, ErrorKind::usage,
               {"'<2xx>' is not a tag", "<2de>, >>fr<<", "--reserve-tags"});
  expect_error([&] { tag_ids("</s>", tokenizer_); }, ErrorKind::usage, {"'</s>' is not a tag"});
  expect_error([&] { tag_ids("<2de>", Tokenizer(testing::small_tokenizer())); }, ErrorKind::usage,
               {"whose tags are: none"});
}

TEST(TagNames, AreGivenWithCommas) {
  EXPECT_EQ(tag_names("<2de>,deu_Latn,__fr__", "--reserve-tags"),
            (std::vector<std::string>{"<2de>", "deu_Latn", "__fr__"}));
  EXPECT_TRUE(tag_names("", "--reserve-tags").empty());
}

TEST(TagNames, ThatTextOrAnotherTokenCouldBeAreRefused) {
  for (const char* name : {"de", "<2>", "<2 de>", "</s>", "<0x41>", "\"<2de>", "<2de>,"})
    expect_error([&] { tag_names(name, "--reserve-tags"); }, ErrorKind::usage, {"--reserve-tags", "cannot be a tag"});
  expect_error([] { tag_names("<2de>,<2fr>,<2de>", "--reserve-tags"); }, ErrorKind::usage, {"'<2de>' is given twice"});
}

}  // namespace
}  // namespace weft
