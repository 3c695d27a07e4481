// tests/data/shards/corpus_verifier_test.cpp: damaged and missing shards are found before they are read.
#include "data/shards/corpus_verifier.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/synthetic_corpus.h"
#include "tests/support/synthetic_lengths.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class CorpusVerifierTest : public ::testing::Test {
 protected:
  const testing::SyntheticCorpus synthetic_{testing::synthetic_lengths(30, /*seed=*/1), /*pairs_per_shard=*/10};
  const std::string second_ = synthetic_.shard_file(1), whole_ = second_ + ".whole";
  Corpus corpus_{synthetic_.folder()};
};

std::string damage_of(CorpusVerifier& verifier) {
  for (;;) {
    if (const std::optional<std::string> damage = verifier.take_damage()) return *damage;
    std::this_thread::yield();
  }
}

TEST_F(CorpusVerifierTest, SaysOnceWhatIsDamagedAndRefusesItUntilItIsWhole) {
  fs::copy_file(second_, whole_);
  fs::resize_file(second_, 1000);
  CorpusVerifier verifier({&corpus_});
  EXPECT_NE(damage_of(verifier).find(second_), std::string::npos);
  EXPECT_EQ(verifier.take_damage(), std::nullopt);
  testing::expect_error([&] { verifier.finish(); }, ErrorKind::data, {second_, "damaged"});
  fs::rename(whole_, second_);
  EXPECT_NO_THROW(verifier.finish());
}

TEST_F(CorpusVerifierTest, RefusesAShardThatIsGoneOrWasReplacedSinceItWasVerified) {
  corpus_.verify_shards({});
  CorpusVerifier verifier({&corpus_});
  EXPECT_NO_THROW(verifier.finish());
  fs::rename(second_, whole_);
  testing::expect_error([&] { verifier.finish(); }, ErrorKind::data, {second_});
  fs::copy_file(synthetic_.shard_file(0), second_);
  testing::expect_error([&] { verifier.finish(); }, ErrorKind::data, {second_, "damaged"});
}

}  // namespace
}  // namespace weft
