// tests/data/text/unicode_test.cpp: validity of UTF-8, and the characters that a line of text may hold.
#include "data/text/unicode.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::string_literals;

TEST(Utf8, AcceptsExactlyWhatUnicodeAllows) {
  for (const std::string& text : {"plain ascii, long enough"s, "\xC2\x80"s, "\xDF\xBF"s, "\xE0\xA0\x80"s,
                                  "\xED\x9F\xBF"s, "\xEE\x80\x80"s, "\xF0\x90\x80\x80"s, "\xF4\x8F\xBF\xBF"s})
    EXPECT_EQ(find_invalid_utf8(text), std::string::npos) << text;
  for (const std::string& bad : {"\x80"s, "\xC0\x80"s, "\xC1\xBF"s, "\xC3"s, "\xE0\x9F\xBF"s, "\xED\xA0\x80"s,
                                 "\xE2\x82"s, "\xF0\x8F\xBF\xBF"s, "\xF4\x90\x80\x80"s, "\xF5\x80\x80\x80"s, "\xFF"s})
    EXPECT_EQ(find_invalid_utf8("12345678901" + bad), 11u) << ::testing::PrintToString(bad);
}

}  // namespace
}  // namespace weft
