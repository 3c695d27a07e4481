// tests/data/packing/pair_text_test.cpp: pairs from two files and from tab-separated values, and refusals by line.
#include "data/packing/pair_text.h"

#include <gtest/gtest.h>

#include "tensor/random.h"
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
  EXPECT_EQ(pairs_of(tsv("one\teins\r\ntwo\tzwei\n")), (Pairs{{"one", "eins"}, {"two", "zwei"}}));
  EXPECT_EQ(pairs_of(tsv("0.1\teins\tx\tone\n", "-,target,-,source")), (Pairs{{"one", "eins"}}));
  EXPECT_EQ(pairs_of(tsv("one\t\n\teins\n")), (Pairs{{"one", ""}, {"", "eins"}}));
}

TEST_F(PairTextTest, NamesALineWithTooFewColumns) {
  expect_error([&] { pairs_of(tsv("one\teins\ntwo\n")); }, ErrorKind::data,
               {"pairs.tsv, line 2: found one column", "needs 2"});
  expect_error([&] { pairs_of(tsv("1\tone\n", "-,source,target")); }, ErrorKind::data,
               {"line 1: found 2 columns", "needs 3"});
}

TEST_F(PairTextTest, RefusesFurtherColumnsUnlessToldToSkipThem) {
  const std::string text = "one\teins\nTwo men\tare outside.\tZwei Männer\n";  // a tab inside a side
  expect_error([&] { pairs_of(tsv(text)); }, ErrorKind::data,
               {"pairs.tsv, line 2: found 3 columns", "needs 2", "end --columns with ,..."});
  EXPECT_EQ(pairs_of(tsv("one\teins\ntwo\tzwei\tx\ty\n", "source,target,...")),
            (Pairs{{"one", "eins"}, {"two", "zwei"}}));
  expect_error([&] { PairText files(tsv("a\tb\n", "source,...,target")); }, ErrorKind::usage,
               {"nothing may follow ..."});
}

TEST_F(PairTextTest, NeverPairsTheColumnsOfALineWithAnotherNumberOfColumns) {
  uint64_t n = 0;
  const auto draw = [&](uint32_t limit) { return random_bits(1, n++, 0, purpose_of("tsv")) % limit; };
  for (int file = 0; file < 200; ++file) {
    const uint32_t columns = 2 + draw(4), source = draw(columns), target = (source + 1 + draw(columns - 1)) % columns;
    const bool skips_rest = draw(2) == 0;
    std::string names, text;
    for (uint32_t c = 0; c < columns; ++c)
      names += (c == 0 ? "" : ",") + std::string(c == source ? "source" : c == target ? "target" : "-");
    Pairs expected;
    int64_t first_bad = 0;
    for (int64_t line = 1; line <= 20; ++line) {
      const uint32_t found = draw(8) == 0 ? 1 + draw(7) : columns;
      for (uint32_t c = 0; c < found; ++c) text += fmt::format("{}{}.{}", c == 0 ? "" : "\t", line, c);
      text += '\n';
      if (first_bad == 0 && (found < columns || (found > columns && !skips_rest))) first_bad = line;
      expected.emplace_back(fmt::format("{}.{}", line, source), fmt::format("{}.{}", line, target));
    }
    const PairFiles files = tsv(text, names + (skips_rest ? ",..." : ""));
    if (first_bad == 0)
      EXPECT_EQ(pairs_of(files), expected) << names;
    else
      expect_error([&] { pairs_of(files); }, ErrorKind::data, {fmt::format("line {}: found", first_bad)});
  }
}

TEST_F(PairTextTest, DropsInvisibleCharacters) {
  EXPECT_EQ(pairs_of(tsv("but\u00ADton\t\u202EKnopf\u2060\n\u3164\t\u200B\n")), (Pairs{{"button", "Knopf"}, {"", ""}}));
}

TEST_F(PairTextTest, RefusesColumnsThatMakeNoPair) {
  const auto refused = [&](const std::string& columns, const std::vector<std::string>& parts) {
    expect_error([&] { PairText text(tsv("a\tb\n", columns)); }, ErrorKind::usage, parts);
  };
  refused("source", {"--columns source: 'target' is missing"});
  refused("source,target,source", {"'source' is given twice"});
  refused("source;target", {"'source;target' is not a column"});
  refused("", {"'' is not a column"});
}

TEST_F(PairTextTest, ReadsNumbersFromColumnsAndFiles) {
  const auto numbers = [](const PairFiles& files) {
    PairText text(files);
    std::vector<std::pair<float, float>> found;
    for (TextPair pair; text.next(pair);) found.emplace_back(pair.weight, pair.score);
    return found;
  };
  using Numbers = std::vector<std::pair<float, float>>;
  PairFiles files = tsv("-1.5\ta\tb\t 2 \n1e-3\ta\tb\t0\n", "score,source,target,weight");
  EXPECT_EQ(numbers(files), (Numbers{{2, -1.5F}, {0, 1e-3F}}));
  EXPECT_EQ(columns_of(files), (PairColumns{.weight = true, .score = true}));
  files = {.source = file("a", "a\nb\n"), .target = file("b", "a\nb\n"), .scores = file("s", "0.25\n7\n")};
  EXPECT_EQ(numbers(files), (Numbers{{1, 0.25F}, {1, 7}}));
  EXPECT_EQ(columns_of(files), (PairColumns{.score = true}));
  EXPECT_EQ(columns_of(tsv("a\tb\n")), PairColumns());
}

TEST_F(PairTextTest, NamesALineWithoutANumber) {
  for (const char* bad : {"abc", "", "nan", "inf", "1e99", "1,5", "0x1", "1 2"})
    expect_error([&] { pairs_of(tsv("a\tb\t1\na\tb\t" + std::string(bad) + "\n", "source,target,score")); },
                 ErrorKind::data, {"pairs.tsv, line 2: score '" + std::string(bad) + "' is not a number"});
  expect_error([&] { pairs_of(tsv("a\tb\t-1\n", "source,target,weight")); }, ErrorKind::data,
               {"line 1: weight '-1' is not a non-negative number"});
}

TEST_F(PairTextTest, RefusesNumbersFromTwoPlacesAndFilesOfAnotherLength) {
  PairFiles files = tsv("a\tb\t1\n", "source,target,score");
  files.scores = file("s", "1\n");
  expect_error([&] { columns_of(files); }, ErrorKind::usage, {"--scores: --columns already names such a column"});
  files.columns = "source,target,...";
  files.scores = file("s", "1\n2\n");
  expect_error([&] { pairs_of(files); }, ErrorKind::data, {"pairs.tsv has 1 lines, but", "has 2"});
}

TEST_F(PairTextTest, GivesTheLengthsOfUnevenFiles) {
  for (const auto& [source, target] : {std::pair{"a\nb\nc\n", "a\n"}, std::pair{"a\n", "a\nb\nc\n"}})
    expect_error([&] { pairs_of({.source = file("long", source), .target = file("short", target)}); }, ErrorKind::data,
                 {"long has ", "short has "});
}

}  // namespace
}  // namespace weft::testing
