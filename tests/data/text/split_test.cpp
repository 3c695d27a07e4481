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

TEST(Split, LeavesOutWhiteSpaceAroundThePartsOfAList) {
  EXPECT_EQ(split_at_commas(" a , b c,,\td "), (Strings{"a", "b c", "", "d"}));
}

}  // namespace
}  // namespace weft
