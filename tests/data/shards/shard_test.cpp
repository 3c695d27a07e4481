// tests/data/shards/shard_test.cpp: writing a shard, reading it with Weft and other tools, and refusing
// damaged ones.
#include "data/shards/shard.h"

#include <gtest/gtest.h>

#include <hdf5.h>
#include <sys/wait.h>
#include <cmath>

#include <functional>

#include "data/sha256.h"
#include "data/shards/hdf5_image.h"
#include "tests/data/pack_fixture.h"

namespace weft {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

const std::string kZeros(64, '0');

ShardHeader header_of(int64_t source_vocabulary, int64_t target_vocabulary) {
  return {source_vocabulary, target_vocabulary, kZeros, kZeros};
}

const std::vector<PairIds> kPairs = {{{3, 4, 5}, {9}}, {{6}, {3, 4}}, {{7, 8}, {5, 6, 7}}};

class ShardTest : public ::testing::Test {
 protected:
  ShardEntry write(const std::vector<PairIds>& pairs, const ShardHeader& header, const std::string& file = "a.h5") {
    ShardBuilder builder(header);
    for (const PairIds& pair : pairs) builder.add(pair);
    return builder.write(folder_.path(), file);
  }
  // A shard with the content of kPairs that `change` may modify, with a matching digest.
  ShardEntry write_by_hand(const std::function<void(Hdf5Image&)>& add_datasets, uint64_t version = 1) {
    Hdf5Image image;
    image.add_attribute("format_version", version);
    image.add_attribute("num_pairs", 3);
    image.add_attribute("source_vocabulary", 10);
    image.add_attribute("target_vocabulary", 10);
    image.add_attribute("source_tokenizer_sha256", kZeros);
    image.add_attribute("target_tokenizer_sha256", kZeros);
    image.add_ids("source_pieces", {3, 4, 5, 6, 7, 8}, 1);
    image.add_offsets("source_offsets", {0, 3, 4, 6});
    add_datasets(image);
    const std::string_view bytes = image.finish();
    write_file_atomically(folder_ / "hand.h5", bytes);
    return {"hand.h5", sha256_of(bytes), 3, 6, 6};
  }
  std::vector<PairIds> read(const ShardEntry& entry, const ShardHeader& header = header_of(10, 10)) {
    std::optional<FileIdentity> verified;
    ShardReader reader(folder_.path(), entry, header, verified);
    const PairRun run = reader.read(0, entry.num_pairs);
    std::vector<PairIds> pairs;
    for (size_t i = 0; i < static_cast<size_t>(entry.num_pairs); ++i) {
      const auto part = [&](const PairRun::Side& side) {
        return std::vector<int32_t>(side.ids.begin() + static_cast<int64_t>(side.offsets[i]),
                                    side.ids.begin() + static_cast<int64_t>(side.offsets[i + 1]));
      };
      pairs.push_back({part(run.source), part(run.target)});
    }
    return pairs;
  }
  void expect_same_pairs(const std::vector<PairIds>& found) {
    ASSERT_EQ(found.size(), kPairs.size());
    for (size_t i = 0; i < kPairs.size(); ++i) {
      EXPECT_EQ(found[i].source, kPairs[i].source);
      EXPECT_EQ(found[i].target, kPairs[i].target);
    }
  }
  void expect_refused(const ShardEntry& entry, const std::vector<std::string>& parts,
                      const ShardHeader& header = header_of(10, 10)) {
    expect_error([&] { read(entry, header); }, ErrorKind::data, parts);
  }
  std::string output_of(const std::string& command) {
    const std::string line = "cd " + folder_.path() + " && " + command + " 2>&1";
    FILE* pipe = popen(line.c_str(), "r");
    std::string text;
    char buffer[4096];
    while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
    EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 0) << command << "\n" << text;
    return text;
  }
  TemporaryFolder folder_;
};

void good_target(Hdf5Image& image) {
  image.add_ids("target_pieces", {9, 3, 4, 5, 6, 7}, 1);
  image.add_offsets("target_offsets", {0, 1, 3, 6});
}

TEST_F(ShardTest, GivesBackWhatWasWritten) {
  const ShardEntry entry = write(kPairs, header_of(10, 10));
  EXPECT_EQ(entry.num_pairs, 3);
  EXPECT_EQ(entry.source_tokens, 6);
  EXPECT_EQ(entry.target_tokens, 6);
  EXPECT_EQ(entry.sha256, sha256_of_file(folder_ / "a.h5"));
  expect_same_pairs(read(entry));
  EXPECT_EQ(testing::names_in(folder_.path()), std::vector<std::string>{"a.h5"});
}

TEST_F(ShardTest, ReadsAnyRunOfPairsAndOfLengths) {
  std::vector<PairIds> pairs;
  for (int32_t i = 0; i < 30000; ++i)  // several chunks
    pairs.push_back({std::vector<int32_t>(static_cast<size_t>(1 + i % 5), i % 7), {i % 1000, 1 + i % 7}});
  const ShardEntry entry = write(pairs, header_of(1000, 1000));
  std::optional<FileIdentity> verified;
  ShardReader reader(folder_.path(), entry, header_of(1000, 1000), verified);
  const PairRun run = reader.read(29000, 1000);
  EXPECT_EQ(run.source.offsets.front(), 0u);
  EXPECT_EQ(run.source.offsets.back(), run.source.ids.size());
  std::vector<PairLength> lengths(1000);
  reader.read_lengths(29000, 1000, lengths.data());
  for (size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(lengths[i].source, static_cast<int32_t>(1 + (29000 + i) % 5));
    EXPECT_EQ(run.source.ids[run.source.offsets[i]], static_cast<int32_t>((29000 + i) % 7));
    EXPECT_EQ(run.target.ids[run.target.offsets[i]], static_cast<int32_t>((29000 + i) % 1000));
  }
}

TEST_F(ShardTest, StoresIdsAsNarrowAsTheVocabularyAllows) {
  const auto type_for = [&](int64_t vocabulary) {
    write({{{static_cast<int32_t>(vocabulary - 1)}, {0}}}, header_of(vocabulary, 3));
    return output_of("h5dump -H -d source_pieces a.h5 | grep -o 'H5T_STD_[A-Z0-9]*'");
  };
  EXPECT_EQ(type_for(256), "H5T_STD_U8LE\n");
  EXPECT_EQ(type_for(257), "H5T_STD_U16LE\n");
  EXPECT_EQ(type_for(65536), "H5T_STD_U16LE\n");
  EXPECT_EQ(type_for(65537), "H5T_STD_U32LE\n");
  expect_error(
      [&] {
        read(write({{{300}, {0}}}, header_of(70000, 3)), header_of(300, 3));
      },
      ErrorKind::data, {"source_vocabulary"});
}

TEST_F(ShardTest, GivesTheSameBytesForTheSamePairs) {
  const ShardEntry first = write(kPairs, header_of(10, 10), "first.h5");
  const ShardEntry second = write(kPairs, header_of(10, 10), "second.h5");
  EXPECT_EQ(first.sha256, second.sha256);
  EXPECT_NE(first.sha256, write({kPairs[0]}, header_of(10, 10), "third.h5").sha256);
}

TEST_F(ShardTest, IsAnOrdinaryHdf5File) {
  const ShardEntry entry = write(kPairs, header_of(10, 10));
  EXPECT_NE(output_of("h5dump -d target_pieces -y -w 0 a.h5").find("9, 3, 4, 5, 6, 7"), std::string::npos);
  EXPECT_EQ(output_of("h5dump -n a.h5"),
            "HDF5 \"a.h5\" {\nFILE_CONTENTS {\n group      /\n dataset    /source_offsets\n dataset    "
            "/source_pieces\n dataset    /target_offsets\n dataset    /target_pieces\n }\n}\n");
  output_of("h5clear -s a.h5");
  EXPECT_EQ(sha256_of_file(folder_ / "a.h5"), entry.sha256) << "h5clear had something to do";
}

TEST_F(ShardTest, IsStillReadAfterRepacking) {
  ShardEntry entry = write(kPairs, header_of(10, 10));
  for (const char* how : {"-f NONE -l CONTI", "-f SHUF -f GZIP=9"}) {
    output_of(std::string("rm -f b.h5; h5repack ") + how + " a.h5 b.h5");
    entry.file = "b.h5";
    entry.sha256 = sha256_of_file(folder_ / "b.h5");
    expect_same_pairs(read(entry));
  }
}

TEST_F(ShardTest, IsRefusedByItsDigestWhenAnyByteIsChanged) {
  const ShardEntry entry = write(kPairs, header_of(10, 10));
  const size_t size = std::filesystem::file_size(folder_ / "a.h5");
  for (size_t position = 0; position < size; position += 97) {
    testing::flip_byte(folder_ / "a.h5", position);
    expect_refused(entry, {folder_ / "a.h5", "damaged", "SHA-256"});
    testing::flip_byte(folder_ / "a.h5", position);
  }
  std::filesystem::resize_file(folder_ / "a.h5", size / 2);
  expect_refused(entry, {folder_ / "a.h5", "damaged"});
  std::filesystem::remove(folder_ / "a.h5");
  expect_refused(entry, {folder_ / "a.h5", "No such file"});
}

TEST_F(ShardTest, IsHashedAgainOnlyWhenTheFileHasChanged) {
  ShardEntry entry = write(kPairs, header_of(10, 10));
  std::optional<FileIdentity> verified;
  { ShardReader reader(folder_.path(), entry, header_of(10, 10), verified); }
  ASSERT_TRUE(verified.has_value());
  entry.sha256 = kZeros;  // wrong, but not checked
  EXPECT_NO_THROW(ShardReader(folder_.path(), entry, header_of(10, 10), verified));
  testing::flip_byte(folder_ / "a.h5", 100);
  EXPECT_THROW(ShardReader(folder_.path(), entry, header_of(10, 10), verified), Error);
}

TEST_F(ShardTest, IsReadWhenWrittenByHandAfterTheFormatPage) { expect_same_pairs(read(write_by_hand(good_target))); }

TEST_F(ShardTest, NamesTheDatasetWithWrongContent) {
  const auto with_target = [&](std::vector<int32_t> ids, std::vector<uint64_t> offsets) {
    return write_by_hand([&](Hdf5Image& image) {
      image.add_ids("target_pieces", ids, 1);
      image.add_offsets("target_offsets", offsets);
    });
  };
  const std::vector<int32_t> ids = {9, 3, 4, 5, 6, 7};
  expect_refused(with_target({9, 3, 4, 5, 6, 10}, {0, 1, 3, 6}), {"hand.h5", "target_pieces", "id 10", "10"});
  expect_refused(with_target(ids, {0, 1, 3}), {"hand.h5", "target_offsets", "3 elements", "4"});
  expect_refused(with_target({9, 3}, {0, 1, 3, 6}), {"hand.h5", "target_pieces", "2 elements", "6"});
  expect_refused(with_target(ids, {1, 1, 3, 6}), {"hand.h5", "target_offsets", "starts with 1"});
  expect_refused(with_target(ids, {0, 1, 3, 5}), {"hand.h5", "target_offsets", "ends with 5"});
  expect_refused(with_target(ids, {0, 4, 3, 6}),
                 {"hand.h5", "target_offsets", "cannot be the start and end of a sentence"});
  expect_refused(with_target(ids, {0, 3, 3, 6}),
                 {"hand.h5", "target_offsets", "cannot be the start and end of a sentence"});
  expect_refused(with_target(ids, {0, UINT64_MAX, 3, 6}),
                 {"hand.h5", "target_offsets", "cannot be the start and end of a sentence"});
}

TEST_F(ShardTest, RefusesMissingAndForeignDatasetsAndVersions) {
  expect_refused(write_by_hand([](Hdf5Image&) {}), {"hand.h5", "four datasets"});
  expect_refused(write_by_hand([](Hdf5Image& image) {
                   good_target(image);
                   image.add_ids("more", {1}, 1);
                 }),
                 {"hand.h5", "four datasets"});
  expect_refused(write_by_hand(good_target, /*version=*/2), {"hand.h5", "format_version", "is 2, but must be 1"});
}

// Replaces target_tokens of a good shard by the dataset of `make`, with the HDF5 library itself.
ShardEntry with_other_target(const TemporaryFolder& folder, ShardEntry entry, const std::function<void(hid_t)>& make) {
  const hid_t file = H5Fopen((folder / entry.file).c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, "target_pieces", H5P_DEFAULT);
  make(file);
  H5Fclose(file);
  entry.sha256 = sha256_of_file(folder / entry.file);
  return entry;
}

void make_dataset(hid_t file, hid_t type, hid_t list, std::vector<hsize_t> shape = {6}) {
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t id = H5Dcreate2(file, "target_pieces", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  ASSERT_GE(id, 0);
  H5Dclose(id);
  H5Sclose(space);
}

TEST_F(ShardTest, HasNumbersOfEachPairInVersion2) {
  ShardHeader header = header_of(10, 10);
  header.columns = {.weight = true, .score = true};
  std::vector<PairIds> pairs = kPairs;
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i].weight = 0.5F, pairs[i].score = -static_cast<float>(i);
  const ShardEntry entry = write(pairs, header);
  expect_same_pairs(read(entry, header));
  std::optional<FileIdentity> verified;
  const PairRun run = ShardReader(folder_.path(), entry, header, verified).read(1, 2);
  EXPECT_EQ(run.weights, (std::vector<float>{0.5F, 0.5F}));
  EXPECT_EQ(run.scores, (std::vector<float>{-1, -2}));
  expect_refused(entry, {"a.h5", "format_version", "is 2, but must be 1"});
}

TEST_F(ShardTest, RefusesNumbersThatAreNone) {
  ShardHeader header = header_of(10, 10);
  header.columns = {.weight = true};
  const auto refused = [&](const std::function<void(Hdf5Image&)>& add, const std::vector<std::string>& parts) {
    const auto all = [&](Hdf5Image& image) {
      good_target(image);
      add(image);
    };
    expect_refused(write_by_hand(all, /*version=*/2), parts, header);
  };
  refused([](Hdf5Image&) {}, {"hand.h5", "the 5 datasets"});
  refused([](Hdf5Image& image) { image.add_numbers("scores", {1, 1, 1}); }, {"hand.h5", "the 5 datasets"});
  refused([](Hdf5Image& image) { image.add_numbers("weights", {1, 1}); }, {"weights", "has 2 elements instead of 3"});
  refused([](Hdf5Image& image) { image.add_numbers("weights", {1, -1, 1}); }, {"weights", "-1 is not a valid value"});
  refused([](Hdf5Image& image) { image.add_numbers("weights", {1, NAN, 1}); }, {"weights", "nan is not a valid value"});
  refused([](Hdf5Image& image) { image.add_ids("weights", {1, 1, 1}, 1); }, {"weights", "real numbers"});
  const auto in_version_1 = [](Hdf5Image& image) {
    good_target(image);
    image.add_numbers("weights", {1, 1, 1});
  };
  expect_refused(write_by_hand(in_version_1), {"hand.h5", "the four datasets"});
}

TEST_F(ShardTest, RefusesLinksOtherTypesAndOtherStorage) {
  const auto refused = [&](const std::function<void(hid_t)>& make, const std::vector<std::string>& parts) {
    expect_refused(with_other_target(folder_, write(kPairs, header_of(10, 10)), make), parts);
  };
  refused([](hid_t f) { H5Lcreate_soft("/source_pieces", f, "target_pieces", H5P_DEFAULT, H5P_DEFAULT); },
          {"a.h5", "target_pieces", "link"});
  refused([](hid_t f) { H5Lcreate_external("/b.h5", "/x", f, "target_pieces", H5P_DEFAULT, H5P_DEFAULT); },
          {"a.h5", "target_pieces", "link"});
  refused([](hid_t f) { H5Gclose(H5Gcreate2(f, "target_pieces", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); },
          {"a.h5", "target_pieces", "not a dataset"});
  refused([](hid_t f) { make_dataset(f, H5T_IEEE_F32LE, H5P_DEFAULT); }, {"a.h5", "target_pieces", "integers"});
  refused([](hid_t f) { make_dataset(f, H5T_STD_U8LE, H5P_DEFAULT, {2, 3}); }, {"a.h5", "target_pieces", "one-dim"});
  const hid_t external = H5Pcreate(H5P_DATASET_CREATE), scaled = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(external, "/etc/hostname", 0, 6);
  const hsize_t chunk = 6;
  H5Pset_chunk(scaled, 1, &chunk);
  H5Pset_scaleoffset(scaled, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
  refused([&](hid_t f) { make_dataset(f, H5T_STD_U8LE, external); }, {"a.h5", "target_pieces", "external"});
  refused([&](hid_t f) { make_dataset(f, H5T_STD_U8LE, scaled); }, {"a.h5", "target_pieces", "filter 6"});
  H5Pclose(external);
  H5Pclose(scaled);
}

}  // namespace
}  // namespace weft
