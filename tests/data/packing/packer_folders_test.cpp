// tests/data/packing/packer_folders_test.cpp: corpora that are there already: refused, replaced, extended, or left by a
// killed pack.
#include <gtest/gtest.h>

#include "tests/data/packing/packer_fixture.h"

namespace weft::testing {
namespace {

class PackerFoldersTest : public PackerTest {};

TEST_F(PackerFoldersTest, AppendsShardsAndLeavesTheOldOnesAlone) {
  const auto first = sentences(300, 5), second = sentences(150, 6);
  write(first, first);
  PackOptions o = options();
  o.shuffle = false;
  o.shard_pairs = 200;
  pack(o, no_progress);
  const std::string old_shard = read_file(folder_ / "packed/shard-00001.h5");
  write(second, second);
  PackOptions added = o;
  added.tokenizer.clear();
  added.existing = ExistingCorpus::extend;
  added.shard_pairs = 100;
  const PackSummary summary = pack(added, no_progress);
  EXPECT_EQ(summary.num_added_pairs, 150);
  EXPECT_EQ(summary.num_added_shards, 2);
  EXPECT_EQ(names_in(folder_ / "packed"),
            (std::vector<std::string>{"manifest.json", "shard-00000.h5", "shard-00001.h5", "shard-00002.h5",
                                      "shard-00003.h5", "tokenizer.model"}));
  EXPECT_TRUE(read_file(folder_ / "packed/shard-00001.h5") == old_shard);
  std::vector<std::string> all = first;
  all.insert(all.end(), second.begin(), second.end());
  EXPECT_EQ(texts_of("packed", false), all);
  EXPECT_TRUE(holds(read_file(folder_ / "packed/manifest.json"), "\"appended\": ["));
}

TEST_F(PackerFoldersTest, AppendsWithTheTokenizersOfBothSides) {
  write(sentences(500, 5), std::vector<std::string>(500, "другой алфавит здесь и там"));
  PackOptions o = options();
  o.tokenizer.clear();
  o.separate_vocabularies = true;
  o.vocab_size = 290;
  pack(o, no_progress);
  o.separate_vocabularies = false;
  o.existing = ExistingCorpus::extend;
  EXPECT_EQ(pack(o, no_progress).manifest.num_pairs, 1000);
  EXPECT_EQ(texts_of("packed", true).back(), "другой алфавит здесь и там");
}

TEST_F(PackerFoldersTest, AFailedOrKilledAppendLeavesTheOldCorpus) {
  write(sentences(300, 5), sentences(300, 6));
  PackOptions o = options();
  pack(o, no_progress);
  const std::vector<std::string> before = names_in(folder_ / "packed");
  const std::string manifest = read_file(folder_ / "packed/manifest.json");
  o.tokenizer.clear();
  o.existing = ExistingCorpus::extend;
  write({"a", "b"}, {"a"});
  expect_refused(o, ErrorKind::data, {"2 lines"});
  EXPECT_EQ(names_in(folder_ / "packed"), before);

  write(sentences(100, 7), sentences(100, 8));
  const auto killed_while_shuffling = [](const char* phase, int64_t, int64_t) {
    if (std::string(phase) == "shuffling") _exit(99);
  };
  EXPECT_EQ(in_child([&] { pack(o, killed_while_shuffling); }).code, 99);
  EXPECT_EQ(read_file(folder_ / "packed/manifest.json"), manifest);
  EXPECT_EQ(texts_of("packed", false).size(), 300u);
  // The most that a kill leaves: shards beside a manifest that does not list them.
  write_file_atomically(folder_ / "packed/shard-00001.h5", "left by a killed append");
  EXPECT_EQ(texts_of("packed", false).size(), 300u);
  EXPECT_EQ(pack(o, no_progress).manifest.shards.size(), 2u);
  EXPECT_EQ(texts_of("packed", false).size(), 400u);
}

TEST_F(PackerFoldersTest, RefusesToAppendWhereItCannot) {
  write(sentences(300, 5), sentences(300, 6));
  PackOptions o = options();
  o.existing = ExistingCorpus::extend;
  expect_refused(o, ErrorKind::usage, {"--append uses the tokenizer of the corpus"});
  o.tokenizer.clear();
  expect_refused(o, ErrorKind::usage, {"packed contains no packed corpus: check --output, or leave out --append"});
  pack(options(), no_progress);
  flip_byte(folder_ / "packed/tokenizer.model", 1000);
  expect_refused(o, ErrorKind::data, {"tokenizer.model is damaged"});
}

TEST_F(PackerFoldersTest, DoesNotTouchACorpusUnlessAskedTo) {
  write(sentences(300, 5), sentences(300, 6));
  PackOptions o = options();
  o.shard_pairs = 100;
  pack(o, no_progress);
  expect_refused(o, ErrorKind::usage, {"already contains a corpus", "--overwrite"});
  write_file_atomically(folder_ / "packed/notes.txt", "mine");
  o.existing = ExistingCorpus::replace;
  o.shard_pairs = 200;
  pack(o, no_progress);
  EXPECT_EQ(names_in(folder_ / "packed"), (std::vector<std::string>{"manifest.json", "notes.txt", "shard-00000.h5",
                                                                    "shard-00001.h5", "tokenizer.model"}));
  EXPECT_EQ(texts_of("packed", false).size(), 300u);
}

TEST_F(PackerFoldersTest, AFailedOverwriteLeavesTheOldCorpus) {
  write(sentences(300, 5), sentences(300, 6));
  pack(options(), no_progress);
  const std::vector<std::string> before = names_in(folder_ / "packed");
  write({"a", "b"}, {"a"});
  PackOptions o = options();
  o.existing = ExistingCorpus::replace;
  expect_refused(o, ErrorKind::data, {"2 lines"});
  EXPECT_EQ(names_in(folder_ / "packed"), before);
  EXPECT_EQ(texts_of("packed", false).size(), 300u);
}

TEST_F(PackerFoldersTest, ReplacesNobodysTokenizerAndNoCheckpoint) {
  write(sentences(300, 5), sentences(300, 6));
  PackOptions o = options();
  std::filesystem::create_directory(folder_ / "packed");
  write_file_atomically(folder_ / "packed/tokenizer.model", "precious");
  expect_refused(o, ErrorKind::usage, {"contains tokenizer.model, which packing might replace", "--overwrite"});
  EXPECT_EQ(read_file(folder_ / "packed/tokenizer.model"), "precious");
  write_file_atomically(folder_ / "packed/MANIFEST.json", "{}");
  for (const ExistingCorpus existing : {ExistingCorpus::refuse, ExistingCorpus::replace}) {
    o.existing = existing;
    expect_refused(o, ErrorKind::usage, {"packed is a checkpoint"});
  }
  EXPECT_EQ(names_in(folder_ / "packed"), (std::vector<std::string>{"MANIFEST.json", "tokenizer.model"}));
}

TEST_F(PackerFoldersTest, RemovesWhatAKilledPackLeft) {
  write({"ka"}, {"lo"});
  std::filesystem::create_directories(folder_ / "packed/.packing");
  write_file_atomically(folder_ / "packed/.packing/bucket-000", "left");
  pack(options(), no_progress);
  EXPECT_EQ(names_in(folder_ / "packed"),
            (std::vector<std::string>{"manifest.json", "shard-00000.h5", "tokenizer.model"}));
}

}  // namespace
}  // namespace weft::testing
