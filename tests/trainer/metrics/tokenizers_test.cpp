// tests/trainer/metrics/tokenizers_test.cpp: tokenizers and their Unicode functions, compared with sacreBLEU
// and Python.
#include "trainer/metrics/tokenizers.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>

#include "data/text/unicode.h"
#include "tests/trainer/metrics/sacrebleu_cases.h"

namespace weft::testing {
namespace {

using Tokenize = std::function<std::string(std::string_view)>;

Tokenize tercom(const std::string& option_set) {
  return [options = kTerOptionSets.at(option_set)](std::string_view line) { return tokenize_tercom(line, options); };
}

TEST(Tokenizers, EqualSacrebleusOnOddLines) {
  const std::map<std::string, Tokenize> tokenizers = {
      {"13a", tokenize_13a},
      {"intl", tokenize_intl},
      {"char", tokenize_chars},
      {"zh", tokenize_zh},
      {"TER", tercom("TER")},
      {"TER normalized Asian", tercom("TER normalized Asian")},
      {"TER Asian without punctuation", tercom("TER Asian without punctuation")}};
  const std::vector<std::string> lines = sacrebleu_cases()["lines"];
  ASSERT_GE(lines.size(), 80u);
  ASSERT_EQ(sacrebleu_cases()["tokens"].size(), tokenizers.size());
  for (const auto& [name, tokenize] : tokenizers) {
    for (size_t i = 0; i < lines.size(); ++i) {
      // A tokenizer may keep white space ("char"), at which scores split.
      const std::string expected = sacrebleu_cases()["tokens"][name][i];
      EXPECT_EQ(tokenize(lines[i]), join_words(split_words(expected))) << name << ": " << lines[i];
    }
  }
}

// Published examples: the line, its tokens by 13a and by intl.
TEST(Tokenizers, GoldenLines) {
  const std::vector<std::array<const char*, 3>> lines = {
      {"Hello, world! It's 3.14 (or 1,000).", "Hello , world ! It's 3.14 ( or 1,000 ) .",
       "Hello , world ! It ' s 3.14 ( or 1,000 ) ."},
      {"e-mail: a@b.com/x?y=1&amp;lt;", "e-mail : a @ b . com / x ? y = 1 <",
       "e - mail : a @ b . com / x ? y = 1 & amp ; lt ;"},
      {"5-3 = 2 and a-b", "5 - 3 = 2 and a-b", "5-3 = 2 and a - b"},
      {"„Hallo“ – ok…", "„Hallo“ – ok…", "„ Hallo “ – ok …"},
      {"1,000.", "1,000 .", "1,000."}};
  for (const auto& [line, as_13a, as_intl] : lines) {
    EXPECT_EQ(tokenize_13a(line), as_13a);
    EXPECT_EQ(tokenize_intl(line), as_intl);
  }
}

TEST(Tokenizers, ZhTakesSignsForChineseButNotTheRealExtensionB) {
  EXPECT_EQ(tokenize_zh("a\u2014b\u20ACc\u2A6Dd\u2F81e\u2FA1f"), "a — b € c \u2A6D d \u2F81 e \u2FA1 f");
  EXPECT_EQ(tokenize_zh("a\u2A6Eb\U00020000c\u4DB6d"), "a\u2A6Eb\U00020000c\u4DB6d");
  EXPECT_EQ(tokenize_zh(" 价格是1,000. "), "价 格 是 1,000.");  // the last point stays, unlike 13a's
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
    EXPECT_NE(find_invalid_utf8(text), std::string::npos) << text;
    EXPECT_EQ(lower_case(text), text);
    EXPECT_EQ(tokenize_13a(text), text);
    EXPECT_EQ(tokenize_intl(text), text);
    EXPECT_EQ(tokenize_zh(text), text);
    EXPECT_EQ(tokenize_tercom(text, {.normalized = true, .no_punct = true, .asian_support = true}), text);
  }
}

TEST(Unicode, WhiteSpaceIsPythons) {
  EXPECT_EQ(split_words("a\u00A0b\u3000c\u2028d\u0085e\x1C"
                        "f\u200Bg")
                .size(),
            6u);  // U+200B is none
  EXPECT_EQ(trim_right("a b \u2003\t\r"), "a b");
  EXPECT_EQ(trim("\u3000 a b \u2003"), "a b");
  EXPECT_EQ(trim(" \u00A0"), "");
}

}  // namespace
}  // namespace weft::testing
