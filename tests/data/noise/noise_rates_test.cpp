// tests/data/noise/noise_rates_test.cpp: slips change one place, rates are kept, and what is no rate is refused.
#include "data/noise/noise_rates.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/errors.h"

namespace weft {
namespace {

using testing::expect_error;

std::set<std::string> all_of(TextNoise noise, const std::string& text) {
  std::set<std::string> seen;
  for (uint64_t pair = 0; pair < 600; ++pair) seen.insert(with_noise(noise, text, {.pair = pair}));
  return seen;
}

TEST(Slips, LeaveOutOrDoubleOneMarkOfPunctuation) {
  EXPECT_EQ(all_of(TextNoise::punctuation, "Ja, „gut“."),
            (std::set<std::string>{"Ja „gut“.", "Ja,, „gut“.", "Ja, gut“.", "Ja, „„gut“.", "Ja, „gut.", "Ja, „gut““.",
                                   "Ja, „gut“", "Ja, „gut“.."}));
  EXPECT_EQ(all_of(TextNoise::punctuation, "nothing here"), std::set<std::string>{"nothing here"});
}

TEST(Slips, MergeOrSplitWords) {
  EXPECT_EQ(all_of(TextNoise::words, "ab  äé c"),
            (std::set<std::string>{"abäé c", "ab  äéc", "a b  äé c", "ab  ä é c"}));
  EXPECT_EQ(all_of(TextNoise::words, "a b"), std::set<std::string>{"ab"});
  EXPECT_EQ(all_of(TextNoise::words, "ab"), std::set<std::string>{"a b"});
  EXPECT_EQ(all_of(TextNoise::words, "a"), std::set<std::string>{"a"});
}

TEST(Slips, PassBytesThatAreNotUtf8) {
  EXPECT_EQ(all_of(TextNoise::punctuation, "\xff."), (std::set<std::string>{"\xff", "\xff.."}));
  EXPECT_EQ(all_of(TextNoise::words, "\xff\xfe"), std::set<std::string>{"\xff \xfe"});
}

TEST(NoiseRates, AreKept) {
  const NoiseRates rates =
      parse_noise_rates("--noise", "upper=0.1,title=0.05,lower=0.2,typos=0.3,punctuation=1,words=0.5");
  constexpr int kTexts = 20000;
  std::map<TextNoise, int> cases;
  int typos = 0, punctuation = 0, words = 0, both = 0;
  for (uint64_t pair = 0; pair < kTexts; ++pair) {
    const ChosenNoise chosen = choose_noise(rates, {.seed = 3, .pair = pair, .visit = 1});
    ++cases[chosen.letter_case], typos += chosen.typos, punctuation += chosen.punctuation, words += chosen.words;
    both += chosen.typos && chosen.words;
  }
  const auto share = [](int count) { return static_cast<double>(count) / kTexts; };
  EXPECT_NEAR(share(cases[TextNoise::upper]), 0.1, 0.01);
  EXPECT_NEAR(share(cases[TextNoise::title]), 0.05, 0.01);
  EXPECT_NEAR(share(cases[TextNoise::lower]), 0.2, 0.01);
  EXPECT_NEAR(share(typos), 0.3, 0.015);
  EXPECT_NEAR(share(words), 0.5, 0.015);
  EXPECT_NEAR(share(both), 0.15, 0.015);
  EXPECT_EQ(punctuation, kTexts);
}

TEST(NoiseRates, ChooseByThePlaceAlone) {
  const NoiseRates rates = parse_noise_rates("--noise", "upper=0.5");
  const auto chosen = [&](const NoisePlace& place) {
    return choose_noise(rates, place).letter_case == TextNoise::upper;
  };
  int others = 0;
  for (uint64_t pair = 0; pair < 100; ++pair) {
    const NoisePlace place{.seed = 1, .pair = pair, .visit = 2};
    EXPECT_EQ(chosen(place), chosen(place));
    others += chosen(place) != chosen({.seed = 2, .pair = pair, .visit = 2});
    others += chosen(place) != chosen({.seed = 1, .pair = pair, .visit = 3});
  }
  EXPECT_GT(others, 60);
}

TEST(NoiseRates, PutLetterCaseLast) {
  const ChosenNoise all{.letter_case = TextNoise::upper, .typos = false, .punctuation = true, .words = true};
  EXPECT_EQ(with_noise(all, "a b", {}), "AB");
  EXPECT_EQ(with_noise(ChosenNoise(), "a b.", {}), "a b.");
}

TEST(NoiseRates, RefuseWhatIsNoneInOneLine) {
  const auto refused = [](const std::string& text, const std::string& part) {
    expect_error([&] { parse_noise_rates("--noise", text); }, ErrorKind::usage, {"--noise " + text + ": ", part});
  };
  refused("loud=0.1", "'loud' is not a kind of noise; give one of upper, title, lower, typos, punctuation, words");
  refused("none=0.1", "'none' is not a kind of noise");
  refused("upper", "'upper' lacks a rate; write for example upper=0.05");
  refused("upper=0.1,upper=0.2", "'upper' is given twice");
  for (const char* rate : {"", "x", "0", "-1", "1.5", "nan", "0.1x"})
    refused(std::string("typos=") + rate, std::string("'") + rate + "' is not a rate");
  refused("upper=0.6,lower=0.6", "upper, title and lower must add up to at most 1");
  EXPECT_FALSE(parse_noise_rates("--noise", "").any());
}

TEST(NoiseRates, AreOnTheTargetForLetterCasesOnly) {
  const NoiseRates rates = parse_noise_rates("--noise", "upper=0.1,typos=0.1");
  EXPECT_EQ(parse_letter_cases("--noise-target", "upper", rates), std::set{TextNoise::upper});
  expect_error([&] { parse_letter_cases("--noise-target", "upper,typos", rates); }, ErrorKind::usage,
               {"--noise-target upper,typos: 'typos' is not a letter case"});
  expect_error([&] { parse_letter_cases("--noise-target", "title", rates); }, ErrorKind::usage,
               {"--noise-target title: title needs a rate in --noise as well"});
}

}  // namespace
}  // namespace weft
