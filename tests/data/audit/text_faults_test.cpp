// tests/data/audit/text_faults_test.cpp: broken encodings, foreign lines and slipped sides are found, usual text is
// not.
#include "data/audit/text_faults.h"

#include <gtest/gtest.h>

#include <map>

#include "data/audit/shifted_lines.h"
#include "data/audit/shingles.h"
#include "tests/data/audit/grammar_text.h"

namespace weft::testing {
namespace {

TEST(EncodingFault, SeesWhatAWrongDecoderLeaves) {
  for (const char* good : {"Plain text.", "Ärger über Übermut – „Ängste“", "SÃO PAULO", "LIBERTÉ…", "Â, â, ê", "日本語",
                           "«AMANHÃ»", "“NÃ”", "AMANHÃ…", "„ABCÄ“", "Â”"})
    EXPECT_EQ(encoding_fault(good), nullptr) << good;
  EXPECT_STREQ(encoding_fault("lost \xEF\xBF\xBD byte"), "a replacement character (U+FFFD)");
  EXPECT_STREQ(encoding_fault("a \xC2\x85 line"), "a control character");
  for (const char* bad : {"fÃ¼r", "enthÃ¤lt", "donâ€™t", "â€œquotedâ€\u009D", "cafÃ©", "5\u00C2\u00A0km", "StraÃŸe",
                          "Å›wiat jest piÄ™kny", "Ð¿Ñ€Ð¸"})
    EXPECT_STREQ(encoding_fault(bad), "UTF-8 that was read as Windows-1252") << bad;
}

class Languages : public ::testing::Test {
 protected:
  Languages() {
    for (const TextPair& pair : grammar_pairs(/*count=*/2000, /*seed=*/1)) {
      sides_[0].push_back(normal_text(pair.source));
      sides_[1].push_back(normal_text(pair.target));
    }
  }
  std::array<std::vector<std::string>, 2> sides_;
  using Side = LanguageCheck::Side;
  using Verdict = LanguageCheck::Verdict;
};

TEST_F(Languages, OfNewLinesAreUsual) {
  const LanguageCheck check(sides_);
  for (const TextPair& pair : grammar_pairs(/*count=*/300, /*seed=*/2)) {
    EXPECT_EQ(check.check(normal_text(pair.source), Side::source), Verdict::usual) << pair.source;
    EXPECT_EQ(check.check(normal_text(pair.target), Side::target), Verdict::usual) << pair.target;
  }
}

TEST_F(Languages, OfTheOtherSideAreSeen) {
  const LanguageCheck check(sides_);
  int64_t seen = 0, judged = 0;
  for (const TextPair& pair : grammar_pairs(/*count=*/300, /*seed=*/2)) {
    if (pair.source.size() < 30) continue;
    ++judged;
    seen += check.check(normal_text(pair.source), Side::target) == Verdict::of_other_side;
  }
  EXPECT_GE(static_cast<double>(seen), 0.98 * static_cast<double>(judged));
}

TEST_F(Languages, ThatTheTextLacksAreUnusual) {
  const LanguageCheck check(sides_);
  EXPECT_EQ(check.check("хлеб лежит на столе рядом с ножом", Side::source), Verdict::unusual);
  EXPECT_EQ(check.check("il gatto dorme sotto il tavolo della cucina", Side::target), Verdict::unusual);
}

TEST_F(Languages, OfFewLinesCannotBeJudged) {
  for (auto& side : sides_) side.resize(999);
  EXPECT_EQ(LanguageCheck(sides_).check("хлеб лежит на столе рядом с ножом", Side::source), Verdict::usual);
}

// Pairs that keep a number or a name. From `from` to `to`, each source has the target of the pair `distance` further
// on.
std::map<int64_t, int64_t> shifted(int64_t from, int64_t to, int64_t distance, int64_t count = 200) {
  std::map<int64_t, int64_t> found;
  ShiftedLines lines([&](int64_t pair, int64_t by) { found[pair] = by; });
  const auto words = [](int64_t i) { return kept_words("the house number " + std::to_string(1000 + i % 150)); };
  for (int64_t i = 0; i < count; ++i) {
    const bool slips = i >= from && i < to;
    lines.add(words(i), words(slips ? i - distance : i));
  }
  lines.finish();
  return found;
}

TEST(ShiftedLines, AreFoundWithTheirDistance) {
  EXPECT_TRUE(shifted(0, 0, 1).empty());
  for (const int64_t distance : {-3, -1, 1, 2}) {
    const std::map<int64_t, int64_t> found = shifted(60, 140, distance);
    ASSERT_FALSE(found.empty());
    for (const auto& [pair, by] : found) {
      EXPECT_EQ(by, distance);
      EXPECT_GE(pair, 60 - ShiftedLines::kMost);
      EXPECT_LT(pair, 140 + ShiftedLines::kMost);
    }
    for (int64_t pair = 65; pair < 135; ++pair) EXPECT_TRUE(found.contains(pair)) << pair;
  }
}

TEST(ShiftedLines, NeedSeveralSharedWords) {
  std::map<int64_t, int64_t> found;
  ShiftedLines lines([&](int64_t pair, int64_t by) { found[pair] = by; });
  for (int64_t i = 0; i < 100; ++i) lines.add(kept_words("words without a number"), kept_words("ganz andere"));
  lines.finish();
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace weft::testing
