// tests/data/text/invisible_test.cpp: which invisible characters text loses, and which it needs.
#include "data/text/invisible.h"

#include <gtest/gtest.h>

#include <string>

#include "data/text/range_table.h"
#include "data/text/unicode.h"
#include "data/text/unicode_invisible.h"

namespace weft {
namespace {

TEST(Invisible, CharactersDisappearFromWordsOfEveryLanguage) {
  for (const char* hidden : {"\u00AD", "\u034F", "\u061C", "\u115F", "\u17B4",     "\u180E",    "\u200B", "\u200C",
                             "\u200D", "\u200E", "\u202A", "\u202E", "\u2060",     "\u2066",    "\u2069", "\u2800",
                             "\u3164", "\uFE0F", "\uFEFF", "\uFFA0", "\U000E0001", "\U000E0100"}) {
    EXPECT_EQ(without_invisible("but" + std::string(hidden) + "ton"), "button") << hidden;
    EXPECT_EQ(without_invisible(hidden), "");
    EXPECT_TRUE(has_invisible("but" + std::string(hidden) + "ton"));
  }
}

TEST(Invisible, JoinersStayInScriptsThatNeedThem) {
  for (const char* text : {"می\u200Cخواهم", "क्\u200Dष", "ක්\u200Dෂ", "\u1820\u180B\u1821", "ত্\u200D"})
    EXPECT_EQ(without_invisible(text), text);
  EXPECT_EQ(without_invisible("\u200Cمن"), "من") << "before the first letter";
}

TEST(Invisible, EmojiSequencesStay) {
  for (const char* text : {"❤\uFE0F", "1\uFE0F\u20E3", "👩\u200D👩\u200D👧", "👩🏽\u200D🔬", "🏳\uFE0F\u200D🌈",
                           "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F"})
    EXPECT_EQ(without_invisible(text), text);
  EXPECT_EQ(without_invisible("👩\u200D"), "👩") << "nothing follows";
  EXPECT_EQ(without_invisible("🏴\U000E0067"), "🏴") << "the sequence does not end";
  EXPECT_EQ(without_invisible("a\U000E0067\U000E007F"), "a");
}

TEST(Invisible, AMillionInARowDisappear) {  // in time that does not grow with the square of the length
  for (const std::string hidden : {"\u200B", "\U000E0067"}) {
    std::string text = "🏴";
    for (int i = 0; i < 1'000'000; ++i) text += hidden;
    EXPECT_EQ(without_invisible(text + "a"), "🏴a");
  }
}

TEST(Invisible, EveryOtherCharacterStaysAndTheResultIsStable) {
  for (char32_t c = 1; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = "a";
    append_utf8(text, c);
    const std::string left = without_invisible(text);
    ASSERT_EQ(left, contains(unicode_tables::kInvisible, c) ? "a" : text) << std::hex << static_cast<uint32_t>(c);
    ASSERT_EQ(has_invisible(text), left != text) << std::hex << static_cast<uint32_t>(c);
  }
}

}  // namespace
}  // namespace weft
