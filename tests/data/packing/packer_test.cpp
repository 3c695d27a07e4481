// tests/data/packing/packer_test.cpp: text to a corpus and back, the same bytes on any number of threads,
// bounded memory, and no files left after bad input.
#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "tests/data/packed_text.h"
#include "tests/data/packing/packer_fixture.h"

namespace weft {
namespace {

using testing::Child;
using testing::expect_error;
using testing::in_child;
using testing::joined;
using testing::names_in;
using testing::no_progress;
using testing::PackerTest;
using testing::sentences;
using testing::TemporaryFolder;

TEST_F(PackerTest, KeepsTheOrderOfTheTextWithoutShuffle) {
  const auto source = sentences(3000, 5), target = sentences(3000, 6);
  write(source, target);
  PackOptions o = options();
  o.shuffle = false;
  o.shard_pairs = 1000;
  o.threads = 3;
  const PackSummary summary = pack(o, no_progress);
  EXPECT_EQ(summary.counts.kept, 3000);
  EXPECT_EQ(summary.manifest.shards.size(), 3u);
  EXPECT_EQ(texts_of("packed", false), source);
  EXPECT_EQ(texts_of("packed", true), target);
  EXPECT_EQ(names_in(folder_ / "packed"),
            (std::vector<std::string>{"manifest.json", "references.txt", "shard-00000.h5", "shard-00001.h5",
                                      "shard-00002.h5", "tokenizer.model"}));
}

TEST_F(PackerTest, KeepsTheRawTargetsOfAnUnshuffledCorpusUntilItIsExtended) {
  const std::vector<std::string> source = sentences(4, 5), target{"ka\u00ADlo  mi …", "x² „lo“", "",
                                                                  "\u202Eren tu"};  // the third pair is dropped
  write(source, target);
  PackOptions o = options();
  o.shuffle = false;
  Manifest m = pack(o, no_progress).manifest;
  EXPECT_EQ(read_references(folder_ / "packed", m), (std::vector<std::string>{target[0], target[1], target[3]}));
  write_file_atomically(folder_ / "packed/references.txt", "other\n");
  expect_error([&] { read_references(folder_ / "packed", m); }, ErrorKind::data, {"references.txt is damaged"});
  o.existing = ExistingCorpus::extend;
  o.tokenizer.clear();
  const PackSummary extended = pack(o, no_progress);
  m = extended.manifest;
  EXPECT_TRUE(extended.removed_references);
  EXPECT_TRUE(read_references(folder_ / "packed", m).empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "packed/references.txt"));
}

TEST_F(PackerTest, CountsWhatTokensDoNotKeepByCause) {
  write({"ka lo", "ka  lo", " mi ", "ren", "tu\u0085mi"}, {"ka lo", "lo …", "x²", "ren", "tu\u00AD sa"});
  PackOptions o = options();
  const std::string model = with_normalization(read_file(o.tokenizer), Normalization::nfkc);
  write_file_atomically(o.tokenizer = folder_ / "nfkc.model", model);
  o.show_changed = 1;
  const EncodeCounts counts = pack(o, no_progress).counts;
  EXPECT_EQ(counts.source.changed.count(TextChange::spaces), 3);  // a line break is written as a space
  EXPECT_EQ(counts.source.changed.count(TextChange::normalized), 0);
  EXPECT_EQ(counts.target.changed.count(TextChange::normalized), 2);
  EXPECT_EQ(counts.target.changed.count(TextChange::spaces), 0);
  EXPECT_EQ(counts.target.changed.count(TextChange::unknown), 0);
  ASSERT_EQ(counts.target.changed.first(TextChange::normalized).size(), 1u);
  const ChangedText& text = counts.target.changed.first(TextChange::normalized).front();
  EXPECT_EQ(text.number, 1);
  EXPECT_EQ(text.before, "lo …");
  EXPECT_EQ(text.after, "lo ...");
}

TEST_F(PackerTest, ShufflesPairsAsPairsAndLosesNone) {
  const auto source = sentences(3000, 5), target = sentences(3000, 6);
  write(source, target);
  pack(options(), no_progress);
  const auto shuffled_source = texts_of("packed", false), shuffled_target = texts_of("packed", true);
  EXPECT_NE(shuffled_source, source);
  std::set<std::pair<std::string, std::string>> expected, found;
  for (size_t i = 0; i < source.size(); ++i) expected.emplace(source[i], target[i]);
  for (size_t i = 0; i < shuffled_source.size(); ++i) found.emplace(shuffled_source[i], shuffled_target[i]);
  EXPECT_EQ(found, expected);
}

TEST_F(PackerTest, GivesTheSameBytesOnAnyNumberOfThreads) {
  write(sentences(5000, 5), sentences(5000, 6));
  for (const int threads : {1, 2, 5}) {
    PackOptions o = options(fmt::format("with-{}", threads));
    o.tokenizer.clear();
    o.vocab_size = 400;
    o.threads = threads;
    o.shard_pairs = 2000;
    pack(o, no_progress);
  }
  expect_same_bytes("with-1", "with-2");
  expect_same_bytes("with-1", "with-5");
}

TEST_F(PackerTest, ReadsGzipAsPlain) {
  write(sentences(500, 5), sentences(500, 6));
  pack(options("plain"), no_progress);
  write_file_atomically(folder_ / "source.txt", testing::gzipped(joined(sentences(500, 5))));
  pack(options("gzip"), no_progress);
  expect_same_bytes("plain", "gzip");
}

TEST_F(PackerTest, MakesTheSameShardsOfATsv) {
  const auto source = sentences(500, 5), target = sentences(500, 6);
  write(source, target);
  pack(options("files"), no_progress);
  std::vector<std::string> lines;
  for (size_t i = 0; i < source.size(); ++i) lines.push_back("url\t" + target[i] + "\t" + source[i] + "\t0.5\tmore");
  write_file_atomically(folder_ / "pairs.tsv", joined(lines));
  PackOptions o = options("tsv");
  o.text = {.tsv = folder_ / "pairs.tsv", .columns = "-,target,source,..."};
  pack(o, no_progress);
  EXPECT_TRUE(read_file(folder_ / "files/shard-00000.h5") == read_file(folder_ / "tsv/shard-00000.h5"));
}

TEST_F(PackerTest, TheOrderDependsOnTheSeedAloneNotOnTheShards) {
  write(sentences(2000, 5), sentences(2000, 6));
  PackOptions o = options("one");
  pack(o, no_progress);
  o.output = folder_ / "many";
  o.shard_pairs = 100;
  pack(o, no_progress);
  o.output = folder_ / "other";
  o.seed = 2;
  pack(o, no_progress);
  EXPECT_EQ(texts_of("one", false), texts_of("many", false));
  EXPECT_NE(texts_of("one", false), texts_of("other", false));
}

TEST_F(PackerTest, TrainsOneTokenizerForEachSideIfAsked) {
  write(sentences(500, 5), std::vector<std::string>(500, "другой алфавит здесь и там"));
  PackOptions o = options();
  o.tokenizer.clear();
  o.separate_vocabularies = true;
  o.vocab_size = 290;
  const PackSummary summary = pack(o, no_progress);
  EXPECT_FALSE(summary.manifest.joint_vocabulary);
  EXPECT_NE(summary.manifest.source_tokenizer_sha256, summary.manifest.target_tokenizer_sha256);
  EXPECT_EQ(texts_of("packed", true).front(), "другой алфавит здесь и там");

  o = options("again");
  o.tokenizer.clear();
  o.source_tokenizer = folder_ / "packed/source.model";
  o.target_tokenizer = folder_ / "packed/target.model";
  pack(o, no_progress);
  EXPECT_EQ(texts_of("again", false), texts_of("packed", false));
}

TEST_F(PackerTest, CountsWordsAndBytes) {
  write({"ka lo 漢"}, {" ka  lo "});
  const EncodeCounts counts = pack(options(), no_progress).counts;
  EXPECT_EQ(counts.source.words, 3);
  EXPECT_EQ(counts.target.words, 2);
  EXPECT_EQ(counts.source.bytes, 3);
  EXPECT_EQ(counts.target.bytes, 0);
}

TEST_F(PackerTest, RefusesFilesOfDifferentLengthWithBothNumbers) {
  write(sentences(7, 5), sentences(5, 6));
  expect_refused(options(), ErrorKind::data, {"source.txt has 7 lines", "target.txt has 5"});
}

TEST_F(PackerTest, RefusesBadTextNamingFileAndLine) {
  write({"a", "b"}, {"a", "\xFF"});
  expect_refused(options(), ErrorKind::data, {"target.txt", "line 2", "UTF-8"});
  write({}, {});
  expect_refused(options(), ErrorKind::data, {"are empty"});
  write({"", " "}, {"a", "b"});
  expect_refused(options(), ErrorKind::data, {"none of the 2 pairs is left: 2 dropped (a side is empty)"});
  const std::string whole = testing::gzipped(joined(sentences(2000, 5)));
  write_file_atomically(folder_ / "source.txt", whole.substr(0, whole.size() / 2));
  expect_refused(options(), ErrorKind::data, {"source.txt", "cut off"});
  std::filesystem::remove(folder_ / "source.txt");
  expect_refused(options(), ErrorKind::data, {"no file", "source.txt"});
}

TEST_F(PackerTest, RefusesATokenizerThatIsNone) {
  write({"a"}, {"b"});
  PackOptions o = options();
  o.tokenizer = folder_ / "source.txt";
  expect_refused(o, ErrorKind::data, {"source.txt is not a SentencePiece model"});
}

TEST_F(PackerTest, RefusesAVocabularyTooLargeForTheText) {
  write(sentences(20, 5), sentences(20, 6));
  PackOptions o = options();
  o.tokenizer.clear();
  expect_refused(o, ErrorKind::usage, {"--vocab-size 8000 is too large", "at most"});
}

TEST_F(PackerTest, RefusesContradictingOptions) {
  write({"a"}, {"b"});
  PackOptions o = options();
  o.separate_vocabularies = true;
  expect_refused(o, ErrorKind::usage, {"--tokenizer gives one model for both sides, but --separate-vocabularies"});
  o = options();
  o.source_tokenizer = o.tokenizer;
  expect_refused(o, ErrorKind::usage, {"only one of --source-tokenizer and --target-tokenizer is given: give both"});
  o.target_tokenizer = o.tokenizer;
  expect_refused(o, ErrorKind::usage,
                 {"--tokenizer cannot be combined with --source-tokenizer and --target-tokenizer"});
  o = options();
  o.text.tsv = "pairs.tsv";
  expect_refused(o, ErrorKind::usage, {"either with --source and --target, or with --tsv"});
  o.text = {};
  expect_refused(o, ErrorKind::usage, {"either with --source and --target, or with --tsv"});
  o.text.source = folder_ / "source.txt";
  expect_refused(o, ErrorKind::usage, {"give both --source and --target"});
  o = options();
  o.filter.max_length = 0;
  expect_refused(o, ErrorKind::usage, {"--max-length 0"});
}

TEST_F(PackerTest, LeavesNothingWhenTheDiskIsFull) {
  write(sentences(60000, 5), sentences(60000, 6));  // shard and shuffle file above 1 MB, all else below
  const std::vector<std::string> before = names_in(folder_.path());
  for (const bool shuffle : {false, true}) {
    const Child child = in_child([&] {
      const rlimit limit{1 << 20, 1 << 20};
      signal(SIGXFSZ, SIG_IGN);
      setrlimit(RLIMIT_FSIZE, &limit);
      PackOptions o = options();
      o.shuffle = shuffle;
      pack(o, no_progress);
    });
    EXPECT_EQ(child.code, static_cast<int>(ErrorKind::io));
    EXPECT_EQ(names_in(folder_.path()), before);
  }
}

// 140,000 more pairs may cost 5 MB; kept in memory they would take 11 MB, at least 80 bytes each. Sanitizers
// allocate memory, too, so under them this only shows that packing works in a child process.
TEST_F(PackerTest, MemoryDoesNotGrowWithTheCorpus) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int64_t kLarge = 15000, kMaxGrowth = 1000;
#else
  constexpr int64_t kLarge = 150000, kMaxGrowth = 5;
#endif
  const auto peak_mb = [&](int64_t count) {
    const std::string text = folder_ / std::to_string(count);
    write_file_atomically(text, joined(std::vector<std::string>(static_cast<size_t>(count), "ka lo mi ren tu")));
    PackOptions o = options("packed-" + std::to_string(count));
    o.text.source = o.text.target = text;
    o.shard_pairs = 2000;
    o.threads = 2;
    const Child child = in_child([&] { pack(o, no_progress); });
    EXPECT_EQ(child.code, 0);
    EXPECT_EQ(Corpus(o.output).num_pairs(), count);
    return child.peak_mb;
  };
  const int64_t small = peak_mb(10000), large = peak_mb(kLarge);
  RecordProperty("small_mb", std::to_string(small));
  RecordProperty("large_mb", std::to_string(large));
  EXPECT_LE(large - small, kMaxGrowth) << small << " MB for 10,000 pairs, " << large << " MB for " << kLarge;
}

}  // namespace
}  // namespace weft
