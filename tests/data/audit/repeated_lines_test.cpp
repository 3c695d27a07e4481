// tests/data/audit/repeated_lines_test.cpp: normal texts and shingles, and which changes of a line are still found.
#include "data/audit/repeated_lines.h"

#include <gtest/gtest.h>

#include "data/audit/shingles.h"
#include "tests/data/audit/grammar_text.h"

namespace weft::testing {
namespace {

TEST(NormalText, KeepsLettersMarksAndNumbersInLowerCase) {
  EXPECT_EQ(normal_text("  Hello,   WORLD! (42)"), "hello world 42");
  EXPECT_EQ(normal_text("Ärger – „Über“…"), "ärger über");
  EXPECT_EQ(normal_text("日本語。テスト"), "日本語 テスト");
  EXPECT_EQ(normal_text("... --- !"), "");
  EXPECT_EQ(normal_text("H\u00E4u\u00ADser, ge\u200Bfallen"), "häuser gefallen") << "invisible characters";
  EXPECT_EQ(normal_text("\uFEFFHa\u0308user \uFB01sh"), "häuser fish") << "other forms of the same characters";
}

TEST(Shingles, AreDistinctSequencesOfFiveCharacters) {
  EXPECT_TRUE(shingles("abcd").empty());
  EXPECT_EQ(shingles("abcde").size(), 1);
  EXPECT_EQ(shingles("aaaaaaaa").size(), 1);
  EXPECT_EQ(shingles("äöüßé").size(), 1);
  EXPECT_EQ(num_common(shingles("abcdefg"), shingles("xabcdefg")), 3);
  EXPECT_EQ(num_common(shingles("abcdefg"), shingles("gfedcba")), 0);
}

const std::string kLine = "The old man carries a heavy bag of apples across the wet street.";

Repeat repeat_of(const std::string& line, const std::string& text) {
  const std::vector<RepeatedLines::Hit> hits =
      RepeatedLines({"Something else entirely is here.", line}).find(text, normal_text(text));
  EXPECT_LE(hits.size(), 1);
  if (hits.empty()) return Repeat::none;
  EXPECT_EQ(hits[0].line, 1);
  return hits[0].repeat;
}

TEST(RepeatedLines, TellsHowALineIsRepeated) {
  EXPECT_EQ(repeat_of(kLine, kLine), Repeat::exact);
  EXPECT_EQ(repeat_of(kLine, "\t" + kLine + "  "), Repeat::exact);
  EXPECT_EQ(repeat_of(kLine, "the OLD man carries a heavy bag of apples, across the wet street"), Repeat::normalized);
  EXPECT_EQ(repeat_of(kLine, "The old man carries a heavy bag of pears across the wet street."), Repeat::near);
  EXPECT_EQ(repeat_of(kLine, "Today " + kLine + " Then he rests."), Repeat::near) << "within a longer text";
  EXPECT_EQ(repeat_of(kLine, "The old man carries a heavy bag."), Repeat::none) << "half of it";
  EXPECT_EQ(repeat_of(kLine, "A young woman pushes a light cart of plums along the dry road."), Repeat::none);
}

TEST(RepeatedLines, LeavesOutShortLines) {
  EXPECT_EQ(repeat_of("Yes, it is.", "Yes, it is."), Repeat::none);
  EXPECT_TRUE(RepeatedLines({"Yes, it is."}).is_short(0));
  EXPECT_EQ(repeat_of("No, it is not.", "no it is not"), Repeat::normalized);
  EXPECT_EQ(repeat_of("Delete the selected row.", "Delete the selected rows."), Repeat::none) << "too short to be near";
  EXPECT_EQ(repeat_of("!!! ??? ...", "..."), Repeat::none);
  EXPECT_EQ(repeat_of("ha ha ha ha ha ha ha ha ha ha ha ha", "She laughed ha ha ha and went home."), Repeat::none);
}

TEST(RepeatedLines, FindsEveryLineOfATextThatSeveralLinesContain) {
  const RepeatedLines lines({kLine, kLine, "Quite a different line of text, with other words."});
  const std::vector<RepeatedLines::Hit> hits = lines.find(kLine, normal_text(kLine));
  ASSERT_EQ(hits.size(), 2);
  EXPECT_EQ(hits[0].line, 0);
  EXPECT_EQ(hits[1].line, 1);
}

// The definition, without an index.
bool is_near(const std::string& line, const std::string& text) {
  const std::string normal = normal_text(line);
  const std::vector<uint64_t> own = shingles(normal);
  if (std::ssize(own) < RepeatedLines::kFewestNear || normal == normal_text(text)) return false;
  return static_cast<double>(num_common(own, shingles(normal_text(text)))) >=
         RepeatedLines::kNear * static_cast<double>(own.size());
}

TEST(RepeatedLines, MissesNoNearLineBecauseOfItsIndex) {
  std::vector<std::string> lines, texts;
  for (const TextPair& pair : grammar_pairs(/*count=*/400, /*seed=*/1)) lines.push_back(pair.source);
  for (const TextPair& pair : grammar_pairs(/*count=*/400, /*seed=*/2)) texts.push_back(pair.source);
  const RepeatedLines index(lines);
  int64_t num_near = 0;
  for (const std::string& text : texts) {
    std::vector<int32_t> want, got;
    for (size_t i = 0; i < lines.size(); ++i)
      if (is_near(lines[i], text)) want.push_back(static_cast<int32_t>(i));
    for (const RepeatedLines::Hit& hit : index.find(text, normal_text(text)))
      if (hit.repeat == Repeat::near) got.push_back(hit.line);
    EXPECT_EQ(got, want) << text;
    num_near += std::ssize(want);
  }
  EXPECT_GT(num_near, 20);
}

}  // namespace
}  // namespace weft::testing
