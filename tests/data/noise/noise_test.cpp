// tests/data/noise/noise_test.cpp: noise is a function of the text and its place, and changes what it says.
#include "data/noise/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "data/text/unicode.h"

namespace weft {
namespace {

const std::string kText = "please open the größere window before midnight";

TEST(TextNoise, ChangesTheLetterCase) {
  EXPECT_EQ(with_noise(TextNoise::none, kText, {}), kText);
  EXPECT_EQ(with_noise(TextNoise::upper, kText, {}), "PLEASE OPEN THE GRÖSSERE WINDOW BEFORE MIDNIGHT");
  EXPECT_EQ(with_noise(TextNoise::title, kText, {}), "Please Open The Größere Window Before Midnight");
  EXPECT_EQ(with_noise(TextNoise::lower, "Open THE Window", {}), "open the window");
}

TEST(Typos, AreAFunctionOfSeedPairAndVisit) {
  const auto typos = [](uint64_t seed, uint64_t pair, uint32_t visit) {
    return with_typos(kText, 0.5, {.seed = seed, .pair = pair, .visit = visit});
  };
  EXPECT_EQ(typos(1, 2, 3), typos(1, 2, 3));
  EXPECT_NE(typos(1, 2, 3), typos(2, 2, 3));
  EXPECT_NE(typos(1, 2, 3), typos(1, 3, 3));
  EXPECT_NE(typos(1, 2, 3), typos(1, 2, 4));
}

TEST(Typos, HitAboutTheShareOfWordsThatIsAsked) {
  int words = 0, same = 0;
  for (uint64_t pair = 0; pair < 3000; ++pair) {
    const std::string text = with_typos("window", 0.1, {.pair = pair});
    ++words, same += text == "window";
  }
  EXPECT_NEAR(static_cast<double>(words - same) / words, 0.1, 0.02);
}

TEST(Typos, SwapOmitAndRepeatButKeepTheFirstCharacter) {
  std::set<std::string> seen;
  for (uint64_t pair = 0; pair < 400; ++pair) seen.insert(with_typos("größe", 1, {.pair = pair}));
  const std::set<std::string> swapped{"görße", "grßöe", "gröeß"}, shorter{"göße", "grße", "gröe", "größ"},
      longer{"grröße", "grööße", "größße", "größee"};
  std::set<std::string> expected = swapped;
  expected.insert(shorter.begin(), shorter.end());
  expected.insert(longer.begin(), longer.end());
  EXPECT_EQ(seen, expected);
}

TEST(Typos, JoinWords) {
  std::set<std::string> seen;
  for (uint64_t pair = 0; pair < 400; ++pair) seen.insert(with_typos("one  17 two", 1, {.pair = pair}));
  EXPECT_TRUE(std::ranges::any_of(seen, [](const std::string& s) { return s.starts_with("one17 "); }));
  EXPECT_TRUE(std::ranges::none_of(seen, [](const std::string& s) { return s.find("17t") != std::string::npos; }));
}

TEST(Typos, LeaveShortWordsAndNumbersAlone) {
  const std::string text = " at 1995, by 3rd  x ";
  for (uint64_t pair = 0; pair < 100; ++pair) EXPECT_EQ(with_typos(text, 1, {.pair = pair}), text);
}

TEST(Typos, OfNoRateChangeNothing) { EXPECT_EQ(with_typos(kText, 0, {}), kText); }

TEST(Typos, KeepTextValid) {
  for (uint64_t pair = 0; pair < 200; ++pair)
    EXPECT_EQ(find_invalid_utf8(with_typos("Ελληνικά größere 東京都庁", 1, {.pair = pair})), std::string::npos);
}

}  // namespace
}  // namespace weft
