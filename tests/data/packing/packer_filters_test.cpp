// tests/data/packing/packer_filters_test.cpp: what is dropped, from text to the corpus.
#include <gtest/gtest.h>

#include "tests/data/packing/packer_fixture.h"

namespace weft::testing {
namespace {

class PackerFiltersTest : public PackerTest {};

TEST_F(PackerFiltersTest, CountsAndDropsEmptyAndOverLongPairs) {
  write({"ka", "", "lo", std::string(100, 'k'), "mi"}, {"ka", "lo", "  ", "lo", std::string(100, 'm')});
  PackOptions o = options();
  o.filter.max_length = 20;
  o.shuffle = false;
  const PackSummary summary = pack(o, no_progress);
  EXPECT_EQ(summary.counts.read, 5);
  EXPECT_EQ(summary.counts.dropped.count(Fault::empty), 2);
  EXPECT_EQ(summary.counts.dropped.count(Fault::too_long), 2);
  EXPECT_EQ(summary.counts.kept, 1);
  EXPECT_EQ(texts_of("packed", false), std::vector<std::string>{"ka"});
}

TEST_F(PackerFiltersTest, CutsOverLongPairsIfAsked) {
  write({std::string(100, 'k'), "mi"}, {"lo", "mi"});
  PackOptions o = options();
  o.filter.max_length = 20;
  o.filter.over_long = OverLong::cut;
  const PackSummary summary = pack(o, no_progress);
  EXPECT_EQ(summary.counts.cut, 1);
  EXPECT_EQ(summary.counts.kept, 2);
  EXPECT_EQ(summary.manifest.longest_source, 20);
}

TEST_F(PackerFiltersTest, CountsEachPairUnderTheFirstFilterThatDropsIt) {
  write({"ka lo", "mi", "ka lo", "да нет", "ka ka ka ka ka ka", "sa", ""},
        {"lo ka", "mi", "lo ka ", "tu", "tu", "tu sa", "x"});
  PackOptions o = options();
  o.shuffle = false;
  o.filter = {.drop_identical = true, .drop_duplicates = true, .max_ratio = 3, .source_script = "Latin"};
  o.show_dropped = 1;
  const EncodeCounts counts = pack(o, no_progress).counts;
  const auto number = [&](Fault fault) { return counts.dropped.first(fault).at(0).number; };
  EXPECT_EQ(counts.read, 7);
  EXPECT_EQ(counts.kept, 2);
  EXPECT_EQ(number(Fault::identical), 1);
  EXPECT_EQ(number(Fault::duplicate), 2);
  EXPECT_EQ(number(Fault::source_script), 3);
  EXPECT_EQ(number(Fault::ratio), 4);
  EXPECT_EQ(number(Fault::empty), 6);
  EXPECT_EQ(texts_of("packed", false), (std::vector<std::string>{"ka lo", "sa"}));
  const std::string manifest = read_file(folder_ / "packed/manifest.json");
  for (const char* line :
       {"\"both sides are equal\": 1", "\"source not in Latin\": 1", "\"ratio of lengths above 3\": 1"})
    EXPECT_TRUE(holds(manifest, line)) << line;
}

TEST_F(PackerFiltersTest, DropsPairsWithASideThatEqualsAnExcludedLine) {
  write({"ka lo", " mi\u00AD ", "sa", "lo"}, {"tu", "tu", "da", "mi lo"});
  write_file_atomically(folder_ / "test.a", "mi\nk\u200Ba\n");
  write_file_atomically(folder_ / "test.b", "da\r\n");
  PackOptions o = options();
  o.shuffle = false;
  o.filter.exclude = folder_ / "test.a" + ", " + folder_ / "test.b";
  const PackSummary summary = pack(o, no_progress);
  EXPECT_EQ(summary.counts.dropped.count(Fault::excluded), 2);
  EXPECT_EQ(texts_of("packed", false), (std::vector<std::string>{"ka lo", "lo"}));
}

TEST_F(PackerFiltersTest, RefusesAnExcludedFileThatDoesNotExist) {
  write({"ka"}, {"lo"});
  PackOptions o = options();
  o.filter.exclude = "no-such-file";
  expect_error([&] { pack(o, no_progress); }, ErrorKind::data, {"no-such-file"});
}

TEST_F(PackerFiltersTest, FiltersAlikeOnAnyNumberOfThreads) {
  std::vector<std::string> source = sentences(1500, 5), target = sentences(1500, 6);
  for (std::vector<std::string>* side : {&source, &target}) {
    const std::vector<std::string> again = *side;
    side->insert(side->end(), again.begin(), again.end());
  }
  write(source, target);
  for (const int threads : {1, 4}) {
    PackOptions o = options(fmt::format("with-{}", threads));
    o.threads = threads;
    o.filter.drop_duplicates = true;
    o.filter.min_length = 8;
    o.show_dropped = 3;
    const EncodeCounts counts = pack(o, no_progress).counts;
    EXPECT_EQ(counts.dropped.count(Fault::duplicate), 1500);
    EXPECT_EQ(counts.dropped.first(Fault::duplicate).at(2).number, 1502);
    EXPECT_GT(counts.dropped.count(Fault::too_short), 0);
    EXPECT_EQ(counts.kept, 1500 - counts.dropped.count(Fault::too_short));
  }
  expect_same_bytes("with-1", "with-4");
}

TEST_F(PackerFiltersTest, TrainsTheTokenizerWithoutPairsOfAWrongScript) {
  write({"ka lo mi", "другой алфавит"}, {"ka lo mi", "ka lo"});
  const auto pack_with = [&](const std::string& output, const std::string& script) {
    PackOptions o = options(output);
    o.tokenizer.clear();
    o.vocab_size = 271;
    o.filter.source_script = script;
    pack(o, no_progress);
    return read_file(folder_ / (output + "/tokenizer.model"));
  };
  const auto knows = [](const std::string& model, const char* letter) { return holds(model, letter); };
  EXPECT_TRUE(knows(pack_with("latin", "Latin"), "ka"));
  EXPECT_FALSE(knows(read_file(folder_ / "latin/tokenizer.model"), "\xD0\xB4"));  // a Cyrillic letter
}

}  // namespace
}  // namespace weft::testing
