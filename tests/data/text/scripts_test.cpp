// tests/data/text/scripts_test.cpp: letters by script.
#include "data/text/scripts.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::testing {
namespace {

double foreign(const char* scripts, const char* text) { return ScriptSet(scripts, "--x").foreign_share(text); }

TEST(ScriptSet, CountsLettersOfOtherScripts) {
  EXPECT_EQ(foreign("Latin", "Größe"), 0);
  EXPECT_EQ(foreign("Latin", "размер"), 1);
  EXPECT_EQ(foreign("Cyrillic", "да da"), 0.5);
  EXPECT_EQ(foreign("Latin+Cyrillic", "да da"), 0);
  EXPECT_EQ(foreign("Greek", "αβγ x"), 0.25);
  EXPECT_EQ(foreign("Han", "中文 text"), 4.0 / 6);
}

TEST(ScriptSet, KnowsWhatJapaneseIsWrittenIn) {
  const char* const text = "コンピューターは速い";  // with the sign of a long vowel, which scripts share
  EXPECT_EQ(foreign("Han+Hiragana+Katakana", text), 0);
  EXPECT_EQ(foreign("Katakana", text), 3.0 / 8);
}

TEST(ScriptSet, IgnoresWhatIsNoLetter) {
  EXPECT_EQ(foreign("Cyrillic", ""), 0);
  EXPECT_EQ(foreign("Cyrillic", "12:30 - 50 % (!) \xF0\x9F\x98\x80"), 0);
  EXPECT_EQ(foreign("Latin", "\xFF\xFE"), 0) << "bytes that are no UTF-8";
}

TEST(ScriptSet, CountsScriptsWithoutANameHereAsOthers) {
  EXPECT_EQ(foreign("Latin", "\xF0\x90\x8C\xB0"), 1);  // a Gothic letter
}

TEST(ScriptSet, RefusesUnknownNamesWithThoseThatAreKnown) {
  for (const char* names : {"latin", "", "Latin+", "Latin, Greek", "Klingon"})
    expect_error([&] { ScriptSet(names, "--source-script"); }, ErrorKind::usage,
                 {"--source-script", "is not a known script", "Latin", "Yi"});
}

}  // namespace
}  // namespace weft::testing
