// tests/data/subword/normalization_test.cpp: rules that rewrite text, and what a corpus keeps of it.
#include "data/subword/normalization.h"

#include <gtest/gtest.h>

#include "data/text/invisible.h"
#include "data/text/unicode.h"
#include "tests/data/packing/packer_fixture.h"

namespace weft::testing {
namespace {

const std::string kLine = "ｈ，！ x² №1… «\u00A0oui\u00A0»\u3000a\tb";

class NormalizationOfCorporaTest : public PackerTest {
 protected:
  // Packs kLine, among other text, with a tokenizer that is trained for these rules.
  Manifest pack_with(Normalization source, Normalization target, bool separate = false) {
    std::vector<std::string> lines = sentences(500, 1);
    lines.push_back(kLine);
    write(lines, lines);
    PackOptions o = options();
    o.tokenizer.clear();
    o.vocab_size = 400;
    o.shuffle = false;
    o.source_normalization = source;
    o.target_normalization = target;
    o.separate_vocabularies = separate;
    return pack(o, no_progress).manifest;
  }
};

TEST(Normalization, RewritesALineByItsRule) {
  EXPECT_EQ(Normalizer(Normalization::identity)(kLine), kLine);
  EXPECT_EQ(Normalizer(Normalization::nfkc)(kLine), "h,! x2 No1... « oui » a\tb");
  EXPECT_EQ(Normalizer(Normalization::nmt_nfkc)(kLine), "h,! x2 No1... « oui » a b");
}

TEST(Normalization, OfAModelIsReplacedWithoutAChangeOfItsPieces) {
  const TemporaryFolder folder;
  const std::string model = read_file(small_tokenizer());
  for (const auto& [name, rule] : enum_names(Normalization{})) {
    const std::string file = folder / name;
    write_file_atomically(file, with_normalization(model, rule));
    const Tokenizer tokenizer(file);
    EXPECT_TRUE(same_pieces(tokenizer, Tokenizer(small_tokenizer()))) << name;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("x² ！")), rule == Normalization::identity ? "x² ！" : "x2 !") << name;
  }
  EXPECT_EQ(with_normalization(model, Normalization::identity), model);
}

// Of each line, the model loses only what no reader sees, and what would break a line. The planes without characters
// are left to tests/fuzz/unicode.
TEST(Normalization, ByIdentityKeepsEveryCodePointOfUnicode) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "model", with_normalization(read_file(small_tokenizer()), Normalization::identity));
  const Tokenizer tokenizer(folder / "model");
  for (char32_t first = 1; first <= 0x10FFFF; first += first == 0x1FFC1 ? 0xC0040 : 64) {
    std::string line = "b";
    for (char32_t c = first; c < first + 64; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;  // surrogates are no characters
      append_utf8(line, c);
      line += 'b';
    }
    std::string expected;
    const std::string visible = without_invisible(line);
    for (size_t i = 0; i < visible.size();) {
      const CodePoint c = code_point_at(visible, i);
      append_utf8(expected, is_control_or_line_break(c.value) || c.value == U'\u2581' ? U' ' : c.value);
      i += static_cast<size_t>(c.num_bytes);
    }
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(line)), expected) << "from U+" << std::hex << uint32_t{first};
  }
}

TEST_F(NormalizationOfCorporaTest, KeepsAllCharactersOfTheTargetByDefault) {
  const Manifest m = pack_with(PackOptions().source_normalization, PackOptions().target_normalization);
  EXPECT_EQ(texts_of("packed", false).back(), "h,! x2 No1... « oui » a b");
  EXPECT_EQ(texts_of("packed", true).back(), "ｈ，！ x² №1… «\u00A0oui\u00A0»\u3000a b");  // a tab is no text
}

TEST_F(NormalizationOfCorporaTest, GivesAJointVocabularyTwoModelsOfTheSamePieces) {
  const Manifest m = pack_with(Normalization::nmt_nfkc, Normalization::identity);
  EXPECT_TRUE(m.joint_vocabulary);
  EXPECT_EQ(m.source_tokenizer, "source.model");
  EXPECT_EQ(m.target_tokenizer, "target.model");
  const Tokenizer source(folder_ / "packed/source.model"), target(folder_ / "packed/target.model");
  EXPECT_TRUE(same_pieces(source, target));
  EXPECT_EQ(source.encode("，"), target.encode(","));
  EXPECT_NE(target.encode("，"), target.encode(","));
}

TEST_F(NormalizationOfCorporaTest, GivesAJointVocabularyOneModelIfTheRulesAreTheSame) {
  const Manifest m = pack_with(Normalization::nfkc, Normalization::nfkc);
  EXPECT_TRUE(m.joint_vocabulary);
  EXPECT_EQ(m.source_tokenizer, "tokenizer.model");
  EXPECT_EQ(m.target_tokenizer, "tokenizer.model");
  EXPECT_EQ(texts_of("packed", true).back(), "h,! x2 No1... « oui » a b");
}

TEST_F(NormalizationOfCorporaTest, AppliesEachRuleToItsOwnVocabulary) {
  const Manifest m = pack_with(Normalization::identity, Normalization::nmt_nfkc, /*separate=*/true);
  EXPECT_FALSE(m.joint_vocabulary);
  EXPECT_EQ(texts_of("packed", false).back(), "ｈ，！ x² №1… «\u00A0oui\u00A0»\u3000a b");
  EXPECT_EQ(texts_of("packed", true).back(), "h,! x2 No1... « oui » a b");
}

TEST_F(NormalizationOfCorporaTest, TakesTwoGivenModelsOfTheSamePiecesForAJointVocabulary) {
  pack_with(Normalization::nmt_nfkc, Normalization::identity);
  PackOptions o = options("valid");
  o.tokenizer.clear();
  o.source_tokenizer = folder_ / "packed/source.model";
  o.target_tokenizer = folder_ / "packed/target.model";
  EXPECT_TRUE(pack(o, no_progress).manifest.joint_vocabulary);
  o = options("other");
  o.tokenizer.clear();
  o.source_tokenizer = small_tokenizer();
  o.target_tokenizer = folder_ / "packed/target.model";
  EXPECT_FALSE(pack(o, no_progress).manifest.joint_vocabulary);
}

}  // namespace
}  // namespace weft::testing
