// tests/data/corpus_test.cpp: reading a folder of shards as one corpus, and refusing inconsistent manifests.
#include "data/corpus.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>

#include "data/atomic_file.h"
#include "tests/data/pack_fixture.h"
#include "tests/support/errors.h"
#include "tests/support/synthetic_corpus.h"
#include "tests/support/text_corpus.h"

namespace weft {
namespace {

using namespace std::string_literals;
using nlohmann::json;
using testing::expect_error;
using testing::SyntheticCorpus;

std::vector<PairLength> some_lengths(int32_t count) {
  std::vector<PairLength> lengths;
  for (int32_t i = 0; i < count; ++i) lengths.push_back({1 + i % 5, 1 + i % 3});
  return lengths;
}

TEST(Corpus, ReadsRunsAcrossShards) {
  const SyntheticCorpus synthetic(some_lengths(1000), /*pairs_per_shard=*/300);
  Corpus corpus(synthetic.folder());
  EXPECT_EQ(corpus.num_pairs(), 1000);
  std::vector<PairIds> pairs;
  std::vector<PairLength> lengths;
  for (const auto& [first, count] : {std::pair{0, 1000}, std::pair{299, 2}, std::pair{550, 400}, std::pair{999, 1}}) {
    corpus.read_pairs(first, count, pairs);
    corpus.read_lengths(first, count, lengths);
    ASSERT_EQ(pairs.size(), static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(pairs[static_cast<size_t>(i)].source, synthetic.pair(first + i).source);
      EXPECT_EQ(pairs[static_cast<size_t>(i)].target, synthetic.pair(first + i).target);
      EXPECT_EQ(lengths[static_cast<size_t>(i)].target, synthetic.length(first + i).target);
    }
  }
  corpus.read_pairs(500, 0, pairs);
  EXPECT_TRUE(pairs.empty());
}

TEST(Corpus, ReadsEachVariantAcrossShards) {
  constexpr int64_t kVariants = 3;
  const SyntheticCorpus synthetic(some_lengths(700), /*pairs_per_shard=*/300, kVariants);
  Corpus corpus(synthetic.folder());
  EXPECT_EQ(corpus.num_pairs(), 700);
  EXPECT_EQ(corpus.manifest().version, 3);
  std::vector<PairIds> pairs;
  std::vector<PairLength> lengths;
  for (int64_t variant = kVariants - 1; variant >= 0; --variant) {
    corpus.read_pairs(250, 400, pairs, variant);
    corpus.read_lengths(250, 400, lengths, variant);
    for (int64_t i = 0; i < 400; ++i) {
      const PairIds wanted = synthetic.pair(250 + i, variant);
      ASSERT_EQ(pairs[static_cast<size_t>(i)].source, wanted.source);
      ASSERT_EQ(pairs[static_cast<size_t>(i)].target, wanted.target);
      ASSERT_EQ(lengths[static_cast<size_t>(i)].source, std::ssize(wanted.source));
    }
  }
}

TEST(Corpus, RefusesShardsWithAnotherNumberOfVariants) {
  const SyntheticCorpus synthetic(some_lengths(20), /*pairs_per_shard=*/10, /*variants=*/2);
  const std::string file = synthetic.folder() + "/manifest.json";
  json manifest = json::parse(read_file(file));
  manifest["variants"]["count"] = 4;
  write_file_atomically(file, manifest.dump());
  Corpus corpus(synthetic.folder());
  std::vector<PairIds> pairs;
  expect_error([&] { corpus.read_pairs(0, 1, pairs); }, ErrorKind::data,
               {synthetic.shard_file(0), "num_variants is 2, but must be 4"});
}

TEST(Corpus, ReadsPairsInAnyOrderFromMoreShardsThanStayOpen) {
  const SyntheticCorpus synthetic(some_lengths(500), /*pairs_per_shard=*/5);  // 100 shards
  Corpus corpus(synthetic.folder());
  std::vector<PairIds> pairs;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t number = i * 137 % 500;
    corpus.read_pairs(number, 1, pairs);
    ASSERT_EQ(pairs.at(0).source, synthetic.pair(number).source) << number;
  }
}

TEST(Corpus, IsReadByThreadsEachWithItsOwn) {
  const SyntheticCorpus synthetic(some_lengths(2000), /*pairs_per_shard=*/500);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Corpus corpus(synthetic.folder());
      std::vector<PairIds> pairs;
      corpus.read_pairs(0, 2000, pairs);
      for (int64_t i = 0; i < 2000; ++i) wrong += pairs[static_cast<size_t>(i)].target != synthetic.pair(i).target;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Corpus, NamesTheDamagedShardWhenItsPairsAreAskedFor) {
  const SyntheticCorpus synthetic(some_lengths(20), /*pairs_per_shard=*/10);
  testing::flip_byte(synthetic.shard_file(1), 500);
  Corpus corpus(synthetic.folder());
  std::vector<PairIds> pairs;
  corpus.read_pairs(0, 10, pairs);
  expect_error([&] { corpus.read_pairs(9, 2, pairs); }, ErrorKind::data, {synthetic.shard_file(1), "damaged"});
}

TEST(Corpus, VerifiesItsShardsBeforeTheyAreRead) {
  const SyntheticCorpus synthetic(some_lengths(1000), /*pairs_per_shard=*/300);
  Corpus corpus(synthetic.folder());
  std::vector<PairIds> pairs;
  corpus.read_pairs(0, 1, pairs);
  std::ofstream(synthetic.shard_file(2), std::ios::app) << "damage";
  std::stop_source source;
  source.request_stop();
  EXPECT_NO_THROW(corpus.verify_shards(source.get_token()));
  expect_error([&] { corpus.verify_shards({}); }, ErrorKind::data, {synthetic.shard_file(2)});
}

TEST(Corpus, ReadsOnAfterItsShardsWereClosed) {
  const SyntheticCorpus synthetic(some_lengths(1000), /*pairs_per_shard=*/300);
  Corpus corpus(synthetic.folder());
  std::vector<PairIds> pairs;
  for (int i = 0; i < 2; ++i) {
    corpus.read_pairs(299, 2, pairs);
    EXPECT_EQ(pairs.at(1).source, synthetic.pair(300).source);
    corpus.close_shards();
  }
}

TEST(Corpus, NamesAFolderThatIsNoCorpus) {
  const testing::TemporaryFolder folder;
  expect_error([&] { Corpus corpus(folder.path()); }, ErrorKind::data, {folder / "manifest.json", "weft pack"});
}

class ManifestTest : public ::testing::Test {
 protected:
  ManifestTest() : synthetic_(some_lengths(20), 10), file_(synthetic_.folder() + "/manifest.json") {
    good_ = json::parse(read_file(file_));
  }
  void expect_refused(const json& manifest, const std::vector<std::string>& parts) {
    write_file_atomically(file_, manifest.dump());
    expect_error([&] { read_manifest(synthetic_.folder()); }, ErrorKind::data, parts);
  }
  SyntheticCorpus synthetic_;
  std::string file_;
  json good_;
};

TEST_F(ManifestTest, RefusesAKeyThatIsThereTwice) {
  const std::string good = good_.dump();
  write_file_atomically(file_, "{\"num_pairs\": 7," + good.substr(1));
  expect_error([&] { read_manifest(synthetic_.folder()); }, ErrorKind::data,
               {file_, "the key 'num_pairs' occurs twice in an object"});
}

TEST_F(ManifestTest, NamesAMissingField) {
  for (const auto& [key, value] : good_.items()) {
    if (key == "creation") continue;  // informational
    json manifest = good_;
    manifest.erase(key);
    expect_refused(manifest, {file_, "'" + key + "' is missing"});
  }
  for (const char* key : {"file", "sha256", "num_pairs", "source_pieces", "target_pieces"}) {
    json manifest = good_;
    manifest["shards"][1].erase(key);
    expect_refused(manifest, {file_, "shards[1]", std::string("'") + key + "' is missing"});
  }
}

TEST_F(ManifestTest, NamesAFieldOfTheWrongKind) {
  for (const auto& [key, value] : good_.items()) {
    if (key == "creation") continue;
    for (const json& wrong : {json(nullptr), json(-1), json(1.5), json("../x"), json(json::object())}) {
      json manifest = good_;
      manifest[key] = wrong;
      expect_refused(manifest, {file_, key == "version" && wrong.is_number_unsigned() ? "version" : "'" + key + "'"});
    }
  }
}

TEST_F(ManifestTest, RefusesCountsThatDoNotAddUp) {
  for (const char* key : {"num_pairs", "source_pieces", "target_pieces"}) {
    json manifest = good_;
    manifest[key] = manifest[key].get<int64_t>() + 1;
    expect_refused(manifest, {std::string("'") + key + "' is not the sum"});
  }
  json manifest = good_;
  for (json& shard : manifest["shards"]) shard["num_pairs"] = int64_t{1} << 53;
  expect_refused(manifest, {"'num_pairs' is not the sum"});
}

TEST_F(ManifestTest, RefusesColumnsOtherThanThoseOfVersion2) {
  json manifest = good_;
  manifest["version"] = 2;
  expect_refused(manifest, {"'columns' is missing"});
  for (const json& wrong : {json("weight"), json({1}), json({"length"}), json({"weight", "weight"}), json::array()}) {
    manifest["columns"] = wrong;
    SCOPED_TRACE(wrong.dump());
    expect_refused(manifest, {"'columns'"});
  }
  manifest["columns"] = {"score", "weight"};
  write_file_atomically(file_, manifest.dump());
  EXPECT_EQ(read_manifest(synthetic_.folder()).columns, (PairColumns{.weight = true, .score = true}));
}

TEST_F(ManifestTest, RefusesVariantsOtherThanThoseOfVersion3) {
  json manifest = good_;
  manifest["version"] = 3;
  expect_refused(manifest, {"'variants' is missing"});
  for (const json& wrong :
       {json(2), json{{"count", 2}}, json{{"made_by", json::object()}}, json{{"count", 0}, {"made_by", json::object()}},
        json{{"count", 1001}, {"made_by", json::object()}}, json{{"count", 2}, {"made_by", {{"noise", 1}}}}}) {
    manifest["variants"] = wrong;
    SCOPED_TRACE(wrong.dump());
    expect_refused(manifest, {"variants"});
  }
  manifest["variants"] = {{"count", 2}, {"made_by", {{"noise", "upper=0.1"}}}};
  write_file_atomically(file_, manifest.dump());
  const Manifest read = read_manifest(synthetic_.folder());
  EXPECT_EQ(read.num_sentences(), 40);
  EXPECT_EQ(read.variants.made_by.at("noise"), "upper=0.1");
  EXPECT_FALSE(read.columns.any());
}

TEST_F(ManifestTest, RefusesOtherVersionsAndPathsOutOfTheFolder) {
  json manifest = good_;
  manifest["version"] = 4;
  expect_refused(manifest, {"version 4 is unknown, because this Weft reads only versions 1 to 3"});
  for (const std::string& name :
       {"../shard.h5"s, "/etc/passwd"s, "a/b"s, ""s, ".hidden"s, "a\nb"s, std::string(256, 'x')}) {
    manifest = good_;
    manifest["shards"][0]["file"] = name;
    expect_refused(manifest, {"shards[0]", "'file' is not a plain file name"});
  }
}

TEST_F(ManifestTest, QuotesLittleOfATextThatIsNotJson) {
  write_file_atomically(file_, "{\"\x9b" + std::string(200'000, 'x') + "\" 1");
  const std::string message = testing::message_of(ErrorKind::data, [&] { read_manifest(synthetic_.folder()); });
  EXPECT_LT(message.size(), file_.size() + 400);
  EXPECT_FALSE(testing::holds(message, "\x9b"));
}

TEST_F(ManifestTest, RefusesTextThatIsNotJson) {
  for (const std::string& text : {std::string("{"), std::string(), std::string(100, '['), std::string("[1]")}) {
    write_file_atomically(file_, text);
    expect_error([&] { read_manifest(synthetic_.folder()); }, ErrorKind::data, {file_});
  }
}

TEST(Corpus, ATokenizerIsTheManifestsOrRefused) {
  const testing::TextCorpus text(/*num_pairs=*/20);
  const std::string file = text.folder() + "/tokenizer.model";
  const Manifest manifest = read_manifest(text.folder());
  std::string bytes = read_file(file);
  EXPECT_EQ(read_tokenizers(text.folder(), manifest).at("tokenizer.model"), bytes);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
  expect_error([&] { read_tokenizers(text.folder(), manifest); }, ErrorKind::data, {file, "is damaged"});
}

}  // namespace
}  // namespace weft
