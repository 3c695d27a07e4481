// tests/tensor/error_test.cpp: text from a file in a message is short and has no control characters.
#include "tensor/error.h"

#include <gtest/gtest.h>

namespace weft::testing {
namespace {

using namespace std::string_literals;

TEST(Printable, LeavesNamesAsTheyAre) {
  EXPECT_EQ(printable("encoder.layers.0.linear1.weight"), "encoder.layers.0.linear1.weight");
  EXPECT_EQ(printable("Gr\u00f6\u00dfe"), "Gr\u00f6\u00dfe");
}

TEST(Printable, EscapesWhatATerminalActsOnAndWhatCutsAMessage) {
  EXPECT_EQ(printable("a\nb\x1b[2Jc\0d\x7f"s), "a\\nb\\x1b[2Jc\\x00d\\x7f");
  EXPECT_EQ(printable("\u009b2J\u202e"), "\\x9b2J\\u202e");  // a control character of two bytes; right to left
  EXPECT_EQ(printable("\xff\xc3("), "\\xff\\xc3(");          // not UTF-8
}

TEST(Printable, ShortensBetweenCharacters) {
  EXPECT_EQ(printable(std::string(200'000, 'x')), std::string(80, 'x') + "...");
  EXPECT_EQ(printable("ab\u00f6", 3), "ab...");
  EXPECT_EQ(printable("ab\u00f6", 4), "ab\u00f6");
}

}  // namespace
}  // namespace weft::testing
