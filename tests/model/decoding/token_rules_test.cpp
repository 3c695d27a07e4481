// tests/model/decoding/token_rules_test.cpp: byte tokens spell exactly the characters of UTF-8.
#include "model/decoding/token_rules.h"

#include <gtest/gtest.h>

#include <string>

#include "data/text/unicode.h"

namespace weft {
namespace {

// Ids 0 to 255 are bytes, then follow a piece of text, eos and the unknown token.
constexpr int32_t kTextId = 256, kEosId = 257, kUnknownId = 258;

TokenRules byte_rules() {
  TokenRules rules;
  for (int byte = 0; byte < 256; ++byte)
    rules.classes.push_back(static_cast<int32_t>(class_of_byte(static_cast<uint8_t>(byte))));
  for (const TokenClass c : {TokenClass::text, TokenClass::end, TokenClass::forbidden})
    rules.classes.push_back(static_cast<int32_t>(c));
  return rules;
}

bool allows(const TokenRules& rules, const std::vector<int32_t>& tokens, int32_t next, int64_t max_tokens = 99) {
  return (rules.allowed_next(tokens, /*min_tokens=*/0, max_tokens) >> rules.classes[static_cast<size_t>(next)] & 1) !=
         0;
}

// True if each byte is allowed after those before it, and eos after all.
bool spells(const TokenRules& rules, const std::string& bytes) {
  std::vector<int32_t> tokens;
  for (const char c : bytes) {
    const int32_t byte = static_cast<unsigned char>(c);
    if (!allows(rules, tokens, byte)) return false;
    tokens.push_back(byte);
  }
  return allows(rules, tokens, kEosId);
}

TEST(TokenRules, AcceptExactlyTheCharactersOfUtf8) {
  const TokenRules rules = byte_rules();
  const char edges[] = {'a', '\x7F', '\x80', '\x8F', '\x90', '\x9F', '\xA0', '\xBF', '\xC0', '\xC2', '\xE0', '\xF0'};
  for (int lead = 0; lead < 256; ++lead)
    for (const char b : edges)
      for (const char c : edges)
        for (const char d : edges)
          for (const size_t length : {1, 2, 3, 4}) {
            const std::string bytes = std::string({static_cast<char>(lead), b, c, d}).substr(0, length);
            ASSERT_EQ(spells(rules, bytes), find_invalid_utf8(bytes) == std::string::npos)
                << ::testing::PrintToString(bytes);
          }
}

TEST(TokenRules, LetNothingInterruptACharacter) {
  const TokenRules rules = byte_rules();
  for (const std::vector<int32_t>& open :
       {std::vector<int32_t>{kTextId, 0xE2}, {0xE2, 0x82}, {'a', 0xF0, 0x9F, 0x9A}}) {
    EXPECT_FALSE(allows(rules, open, kTextId));
    EXPECT_FALSE(allows(rules, open, kEosId));
    EXPECT_FALSE(allows(rules, open, 'a'));
    EXPECT_TRUE(allows(rules, open, 0x82));
  }
}

TEST(TokenRules, NeverAllowTheUnknownToken) {
  EXPECT_FALSE(allows(byte_rules(), {}, kUnknownId));
  EXPECT_FALSE(allows(byte_rules(), {kTextId}, kUnknownId));
}

TEST(TokenRules, StartACharacterOnlyIfItCanBeCompleted) {
  const TokenRules rules = byte_rules();
  for (int64_t left = 1; left <= 4; ++left) {
    EXPECT_EQ(allows(rules, {kTextId}, 0xC3, 1 + left), left >= 2);
    EXPECT_EQ(allows(rules, {kTextId}, 0xE2, 1 + left), left >= 3);
    EXPECT_EQ(allows(rules, {kTextId}, 0xF0, 1 + left), left >= 4);
  }
}

TEST(TokenRules, AllowTheEndFromTheMinimumOn) {
  const TokenRules rules = byte_rules();
  const auto may_end = [&](const std::vector<int32_t>& tokens) {
    return (rules.allowed_next(tokens, /*min_tokens=*/2, 99) >> static_cast<int>(TokenClass::end) & 1) != 0;
  };
  EXPECT_FALSE(may_end({}));
  EXPECT_FALSE(may_end({kTextId}));
  EXPECT_TRUE(may_end({kTextId, kTextId}));
}

}  // namespace
}  // namespace weft
