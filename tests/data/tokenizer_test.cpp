// tests/data/tokenizer_test.cpp: training and loading SentencePiece models, and refusing unsuitable ones.
#include "data/tokenizer.h"

#include <gtest/gtest.h>

#include <regex>

#include "data/batch.h"
#include "data/subword/train_tokenizer.h"
#include "data/text/unicode.h"
#include "tests/data/sentencepiece_model.h"

namespace weft {
namespace {

using namespace std::string_literals;
using testing::expect_error;
using testing::sentences;
using testing::TemporaryFolder;

constexpr int32_t kFirstByte = 3;  // the piece <0x00>; the other bytes follow

TEST(Tokenizer, HasTheSpecialIdsAndTheSizeAskedFor) {
  const Tokenizer tokenizer(testing::small_tokenizer());
  EXPECT_EQ(tokenizer.size(), 400);
  EXPECT_EQ(tokenizer.piece(SpecialIds::unk), "<unk>");
  EXPECT_EQ(tokenizer.piece(SpecialIds::bos), "<s>");
  EXPECT_EQ(tokenizer.piece(SpecialIds::eos), "</s>");
}

TEST(Tokenizer, DecodesWhatItEncoded) {
  const Tokenizer tokenizer(testing::small_tokenizer());
  for (const std::string& line : sentences(50, 2)) {
    const std::vector<int32_t> ids = tokenizer.encode(line);
    EXPECT_EQ(tokenizer.decode(ids), line);
    for (const int32_t id : ids) EXPECT_GT(id, SpecialIds::eos);
  }
  EXPECT_TRUE(tokenizer.encode("").empty());
  EXPECT_TRUE(tokenizer.encode("  \t\u00A0\u3000 ").empty());
}

TEST(Tokenizer, SpellsUnseenCharactersInBytes) {
  const Tokenizer tokenizer(testing::small_tokenizer());
  const std::vector<int32_t> ids = tokenizer.encode("ka 漢");
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return tokenizer.is_byte(id); }), 3);
  EXPECT_EQ(tokenizer.decode(ids), "ka 漢");
}

TEST(Tokenizer, DecodesBytesOfControlsAndLineBreaksAsSpaces) {
  const Tokenizer tokenizer(testing::small_tokenizer());
  ASSERT_EQ(tokenizer.piece(kFirstByte + '\n'), "<0x0A>");
  const auto spelled = [&](const std::string& bytes) {
    std::vector<int32_t> ids = tokenizer.encode("ka");
    for (const char byte : bytes) ids.push_back(kFirstByte + static_cast<unsigned char>(byte));
    for (const int32_t id : tokenizer.encode("lo")) ids.push_back(id);
    return tokenizer.decode(ids);
  };
  for (const std::string& bytes : {"\n"s, "\r"s, "\t"s, "\0"s, "\x1E"s, "\x7F"s, "\xC2\x85"s, "\u2028"s, "\u2029"s})
    EXPECT_EQ(spelled(bytes), "ka  lo") << ::testing::PrintToString(bytes);
  for (const std::string& bytes : {"~"s, "\u00A1"s, "\u2027"s, "\u202A"s})
    EXPECT_EQ(spelled(bytes), "ka" + bytes + " lo") << ::testing::PrintToString(bytes);
}

TEST(Tokenizer, DecodesALineBreakWithinAPieceAsASpace) {
  const TemporaryFolder folder;
  const Tokenizer tokenizer(testing::tokenizer_with_piece(folder, "x\u2028y"));
  ASSERT_EQ(tokenizer.piece(testing::kFirstOwnPiece), "x\u2028y");
  EXPECT_EQ(tokenizer.decode({testing::kFirstOwnPiece}), "x y");
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
  const Tokenizer tokenizer(testing::small_tokenizer());
  EXPECT_THROW(tokenizer.decode({5, 400}), Error);
  EXPECT_THROW(tokenizer.piece(-1), Error);
}

TEST(Tokenizer, RefusesAModelWithOtherSpecialIds) {
  const TemporaryFolder folder;
  const std::string other = testing::train_sentencepiece(folder, {{"bos_id", "0"}, {"eos_id", "1"}, {"unk_id", "2"}});
  expect_error([&] { Tokenizer tokenizer(other); }, ErrorKind::data,
               {"other.model", "has the ids 2, 0, 1", "2, 0, 1", "must be 0, 1, 2"});
}

TEST(Tokenizer, RefusesWhatIsNotAModel) {
  const TemporaryFolder folder;
  const std::string whole = read_file(testing::small_tokenizer());
  for (const std::string& bytes : {std::string(), std::string("text\n"), whole.substr(0, 1000)}) {
    write_file_atomically(folder / "bad.model", bytes);
    expect_error([&] { Tokenizer tokenizer(folder / "bad.model"); }, ErrorKind::data, {"bad.model"});
  }
  expect_error([&] { Tokenizer tokenizer(folder / "none.model"); }, ErrorKind::data, {"none.model"});
}

TEST(TrainTokenizer, GivesTheSameBytesForTheSameLines) {
  EXPECT_EQ(train_tokenizer(sentences(500, 1), {.vocab_size = 400}), read_file(testing::small_tokenizer()));
}

TEST(TrainTokenizer, SaysTheLargestVocabularyThatTheTextGives) {
  const Error error = testing::error_of([] { train_tokenizer(sentences(50, 1), {.vocab_size = 8000}); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  std::smatch number;
  const std::string message = error.what();
  ASSERT_TRUE(std::regex_search(message, number, std::regex("--vocab-size 8000 is too large.*at most (\\d+)$")))
      << message;
  EXPECT_NO_THROW(train_tokenizer(sentences(50, 1), {.vocab_size = std::stoll(number[1].str())}));
}

TEST(TrainTokenizer, SaysTheSmallestVocabularyThatTheTextNeeds) {
  const Error error = testing::error_of([] { train_tokenizer(sentences(50, 1), {.vocab_size = 100}); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  std::smatch number;
  const std::string message = error.what();
  ASSERT_TRUE(std::regex_search(message, number, std::regex("--vocab-size 100 is too small.*at least (\\d+)")))
      << message;
  EXPECT_NO_THROW(train_tokenizer(sentences(50, 1), {.vocab_size = std::stoll(number[1].str())}));
}

TEST(TrainTokenizer, RefusesTextWithoutAnyLine) {
  expect_error([] { train_tokenizer({}, {}); }, ErrorKind::data, {"no text to train"});
}

TEST(LineSampler, KeepsEverythingUpToItsCapacity) {
  LineSampler sampler(10, 1);
  for (const char* line : {"a", "", "b"}) sampler.add(line);
  EXPECT_EQ(sampler.lines(), (std::vector<std::string>{"a", "b"}));
}

TEST(LineSampler, DividesLongLinesWithoutLosingACharacter) {
  std::string with_spaces, without;
  for (int i = 0; i < 4000; ++i) with_spaces += "wort" + std::to_string(i) + " ", without += "漢";
  for (const std::string& line : {with_spaces, without}) {
    LineSampler sampler(100, 1);
    sampler.add(line);
    std::string all;
    for (const std::string& part : sampler.lines()) {
      EXPECT_LE(part.size(), 4192u);
      EXPECT_EQ(find_invalid_utf8(part), std::string::npos);
      all += part;
    }
    EXPECT_EQ(all, line);
  }
}

TEST(LineSampler, SamplesEvenlyAndRepeatably) {
  const auto sample = [](uint64_t seed) {
    LineSampler sampler(1000, seed);
    for (int i = 0; i < 10000; ++i) sampler.add(std::to_string(i));
    return sampler.lines();
  };
  EXPECT_EQ(sample(1), sample(1));
  EXPECT_NE(sample(1), sample(2));
  std::vector<int> tenths(10);
  for (const std::string& line : sample(1)) ++tenths[static_cast<size_t>(std::stoi(line)) / 1000];
  for (const int count : tenths) EXPECT_NEAR(count, 100, 50);  // five standard deviations
}

}  // namespace
}  // namespace weft
