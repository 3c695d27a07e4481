// Tests of trainer/tokenize_13a.h and of the Unicode under it, against what sacreBLEU and Python say.
#include "trainer/tokenize_13a.h"

#include <gtest/gtest.h>

#include "tests/trainer/sacrebleu_cases.h"
#include "trainer/unicode.h"

namespace weft {
namespace {

TEST(Tokenize13a, EqualsSacrebleuOnOddLines) {
  ASSERT_GE(sacrebleu_cases()["tokenize_13a"].size(), 60u);
  for (const auto& pair : sacrebleu_cases()["tokenize_13a"]) {
    EXPECT_EQ(tokenize_13a(pair[0].get<std::string>()), pair[1].get<std::string>()) << pair[0];
  }
}

TEST(Tokenize13a, KeepsPointsAndCommasInsideNumbers) {
  EXPECT_EQ(tokenize_13a("Hello, world! It's 3.14 (or 1,000)."), "Hello , world ! It's 3.14 ( or 1,000 ) .");
}

TEST(Unicode, LowerCaseEqualsPythons) {
  for (const auto& pair : sacrebleu_cases()["lower_case"]) {
    EXPECT_EQ(lower_case(pair[0].get<std::string>()), pair[1].get<std::string>()) << pair[0];
  }
}

TEST(Unicode, SigmaIsFinalOnlyAtTheEndOfAWord) {
  EXPECT_EQ(lower_case("ΣΟΣ"), "σος");
  EXPECT_EQ(lower_case("Σ"), "σ");        // no letter before it
  EXPECT_EQ(lower_case("ΑΣ'Β"), "ασ'β");  // an apostrophe does not end the word
  EXPECT_EQ(lower_case("ΑΣ\u0301 Β"), "ας\u0301 β");
}

TEST(Unicode, BytesThatAreNotUtf8PassThrough) {
  for (const std::string text : {"\x80",
                                 "a\xFF"
                                 "b",
                                 "\xC3", "\xE2\x82", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    EXPECT_TRUE(first_invalid_utf8(text).has_value()) << text;
    EXPECT_EQ(lower_case(text), text);
    EXPECT_EQ(tokenize_13a(text), text);
  }
  EXPECT_EQ(first_invalid_utf8("ab\xFF"), 2u);
  EXPECT_FALSE(first_invalid_utf8("aé€\U0001F600").has_value());
}

TEST(Unicode, WhiteSpaceIsPythons) {
  EXPECT_EQ(split_words("a\u00A0b\u3000c\u2028d\u0085e\x1C"
                        "f\u200Bg")
                .size(),
            6u);  // U+200B is none
  EXPECT_EQ(trim_right("a b \u2003\t\r"), "a b");
}

}  // namespace
}  // namespace weft
