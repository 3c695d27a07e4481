// tests/data/text/split_test.cpp: parts of a text between separators.
#include "data/text/split.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using Parts = std::vector<std::string_view>;
using Strings = std::vector<std::string>;

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a\tb c\t", '\t'), (Parts{"a", "b c", ""}));
  EXPECT_EQ(split("", '\t'), Parts{""});
}

TEST(Split, TakesALastLineWithAndWithoutItsEnd) {
  EXPECT_EQ(split_lines("a\n\nb\n"), (Parts{"a", "", "b"}));
  EXPECT_EQ(split_lines("a\nb"), (Parts{"a", "b"}));
  EXPECT_EQ(split_lines("\n"), Parts{""});
  EXPECT_EQ(split_lines(""), Parts{});
}

TEST(Split, FindsTheColonAfterAFolderButNotWithinIt) {
  EXPECT_EQ(find_colon_after_folder("a:b/c:2"), 5u);
  for (const char* folder : {"", "a/b", "a:b/", "/a:1/b"})
    EXPECT_EQ(find_colon_after_folder(folder), std::string_view::npos) << folder;
}

TEST(Split, LeavesOutWhiteSpaceAroundThePartsOfAList) {
  EXPECT_EQ(split_at_commas(" a , b c,,\td "), (Strings{"a", "b c", "", "d"}));
}

}  // namespace
}  // namespace weft
