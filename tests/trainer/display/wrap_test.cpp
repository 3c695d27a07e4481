// tests/trainer/display/wrap_test.cpp: where lines break.
#include "trainer/display/wrap.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(WrapWords, BreaksAtSpacesAndIndentsTheOtherLines) {
  EXPECT_EQ(wrap_words("one two three four", /*indent=*/2, /*columns=*/9), "one two\n  three\n  four");
}

TEST(WrapWords, FillsALineToItsLastColumn) {
  EXPECT_EQ(wrap_words("abc def", 0, 7), "abc def");
  EXPECT_EQ(wrap_words("abc def", 0, 6), "abc\ndef");
}

TEST(WrapWords, LeavesALongWordIntact) {
  EXPECT_EQ(wrap_words("a path/of/a/corpus b", 2, 8), "a\n  path/of/a/corpus\n  b");
}

TEST(WrapWords, KeepsAPercentSignWithItsNumber) {
  EXPECT_EQ(wrap_words("at most 87 % full", 0, 10), "at most\n87 % full");
}

TEST(WrapWords, CountsCharactersAndNotBytes) { EXPECT_EQ(wrap_words("äöü äöü", 0, 7), "äöü äöü"); }

}  // namespace
}  // namespace weft
