// tests/launch/tagged_lines_test.cpp: columns of the lines that `weft translate` reads.
#include "launch/tagged_lines.h"

#include <gtest/gtest.h>

#include "launch/input_lines.h"

#include "tests/support/errors.h"

namespace weft {
namespace {

using testing::expect_error;

TEST(TaggedLines, AreSourcesUnlessColumnsAreNamed) {
  const TaggedLine line = TaggedLines({.tag = "<2de>", .target_tag = "<web>"}, "Ja", "").parse("a\tb", "");
  EXPECT_EQ(line.text, "a\tb");
  EXPECT_EQ(line.tag, "<2de>");
  EXPECT_EQ(line.target_tag, "<web>");
  EXPECT_EQ(line.prefix, "Ja");
}

TEST(TaggedLines, HaveTheirColumnsInAnyOrder) {
  const TaggedLines format({.tag = "", .target_tag = "<web>"}, "", "tag,-,source,prefix,...");
  const TaggedLine line = format.parse("<2de>\tskipped\ta b\t\tmore", "");
  EXPECT_EQ(line.text, "a b");
  EXPECT_EQ(line.tag, "<2de>");
  EXPECT_EQ(line.target_tag, "<web>");
  EXPECT_EQ(line.prefix, "");
}

TEST(TaggedLines, AreEmptyIfTheyAreBad) {
  const TaggedLine line =
      TaggedLines({.tag = "<2de>", .target_tag = ""}, "", "prefix,source").parse(InputLines::kBad, "");
  EXPECT_EQ(line.text, "");
  EXPECT_EQ(line.tag, "<2de>");
}

TEST(TaggedLines, WithTooFewColumnsAreRefusedWithTheirNumber) {
  const TaggedLines format({}, "", "tag,source");
  expect_error([&] { format.parse("text", "train.en, line 7"); }, ErrorKind::data,
               {"train.en, line 7: found one column, but --columns tag,source needs 2"});
}

TEST(TaggedLines, RefuseColumnsThatMakeNoSense) {
  const auto refused = [](const std::string& columns, const std::string& part) {
    expect_error([&] { TaggedLines({.tag = "<2de>", .target_tag = ""}, "", columns); }, ErrorKind::usage,
                 {"--columns " + columns, part});
  };
  refused("source,target", "'target' is not a column");
  refused("prefix,-", "the column 'source' is missing");
  refused("source,source", "'source' is given twice");
  refused("tag,source", "'tag' is also set by an option for all lines");
}

}  // namespace
}  // namespace weft
