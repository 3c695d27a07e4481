// tests/data/packing/pair_text_test.cpp: pairs from two files and from tab-separated values, and refusals by line.
#include "data/packing/pair_text.h"

#include <gtest/gtest.h>

#include "tests/data/pack_fixture.h"

namespace weft::testing {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

class PairTextTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& bytes) {
    write_file_atomically(folder_ / name, bytes);
    return folder_ / name;
  }
  PairFiles tsv(const std::string& bytes, const std::string& columns = "source,target") {
    return {.tsv = file("pairs.tsv", bytes), .columns = columns};
  }
  static Pairs pairs_of(const PairFiles& files) {
    PairText text(files);
    Pairs pairs;
    for (TextPair pair; text.next(pair);) pairs.emplace_back(pair.source, pair.target);
    EXPECT_EQ(text.num_pairs(), std::ssize(pairs));
    EXPECT_EQ(text.bytes_read(), text.file_bytes());
    return pairs;
  }
  TemporaryFolder folder_;
};

TEST_F(PairTextTest, ReadsTwoFilesWithTheTabsInTheirLines) {
  const PairFiles files{.source = file("a", "one\ttwo\n\n"), .target = file("b", "eins\nzwei\n")};
  EXPECT_EQ(pairs_of(files), (Pairs{{"one\ttwo", "eins"}, {"", "zwei"}}));
}

TEST_F(PairTextTest, ReadsTheNamedColumnsInAnyOrder) {
  EXPECT_EQ(pairs_of(tsv("one\teins\r\ntwo\tzwei\tmore\n")), (Pairs{{"one", "eins"}, {"two", "zwei"}}));
  EXPECT_EQ(pairs_of(tsv("0.1\teins\tx\tone\n", "-,target,-,source")), (Pairs{{"one", "eins"}}));
  EXPECT_EQ(pairs_of(tsv("one\t\n\teins\n")), (Pairs{{"one", ""}, {"", "eins"}}));
}

TEST_F(PairTextTest, NamesALineWithTooFewColumns) {
  expect_error([&] { pairs_of(tsv("one\teins\ntwo\n")); }, ErrorKind::data,
               {"pairs.tsv, line 2: one column", "wants 2"});
  expect_error([&] { pairs_of(tsv("1\tone\n", "-,source,target")); }, ErrorKind::data,
               {"line 1: 2 columns", "wants 3"});
}

TEST_F(PairTextTest, RefusesColumnsThatMakeNoPair) {
  const auto refused = [&](const std::string& columns, const std::vector<std::string>& parts) {
    expect_error([&] { PairText text(tsv("a\tb\n", columns)); }, ErrorKind::usage, parts);
  };
  refused("source", {"--columns source: 'target' is missing"});
  refused("source,target,source", {"'source' is there twice"});
  refused("source;target", {"'source;target' is no column"});
  refused("", {"'' is no column"});
}

TEST_F(PairTextTest, GivesTheLengthsOfUnevenFiles) {
  for (const auto& [source, target] : {std::pair{"a\nb\nc\n", "a\n"}, std::pair{"a\n", "a\nb\nc\n"}})
    expect_error([&] { pairs_of({.source = file("long", source), .target = file("short", target)}); }, ErrorKind::data,
                 {"long has ", "short has "});
}

}  // namespace
}  // namespace weft::testing
