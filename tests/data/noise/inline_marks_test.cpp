// tests/data/noise/inline_marks_test.cpp: emoji and markup stand at the same places of both sides.
#include "data/noise/inline_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "data/text/unicode.h"
#include "tests/support/errors.h"

namespace weft {
namespace {

using testing::expect_error;

using Sides = std::pair<std::string, std::string>;

Sides marked(const MarkRates& rates, Sides sides, const NoisePlace& place) {
  insert_marks(rates, place, sides.first, sides.second);
  return sides;
}

// What remains of both sides without emoji and without attributes, and how often.
std::map<Sides, int> forms_of(const MarkRates& rates, const Sides& sides) {
  std::map<Sides, int> forms;
  const auto plain = [](const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
      const CodePoint c = code_point_at(text, i);
      const std::string_view rest = std::string_view(text).substr(i);
      if (rest.starts_with(" id=\"")) {
        i = text.find('"', i + 5) + 1;
        continue;
      }
      out += c.num_bytes == 4 ? "*" : rest.substr(0, static_cast<size_t>(c.num_bytes));
      i += static_cast<size_t>(c.num_bytes);
    }
    return out;
  };
  for (uint64_t pair = 0; pair < 3000; ++pair) {
    const Sides got = marked(rates, sides, {.seed = 5, .pair = pair});
    ++forms[{plain(got.first), plain(got.second)}];
  }
  return forms;
}

std::string with_any_name(const std::string& text) {
  static const std::regex name("<(/?)[a-z]+");
  return std::regex_replace(text, name, "<$1name");
}

TEST(InlineMarks, PutAnEmojiBetweenWordsOfBothSides) {
  const std::map<Sides, int> forms = forms_of({.emoji = 1}, {"Click Linux, now", "Nun (Linux) klicken"});
  EXPECT_EQ(forms.size(), 3u);
  EXPECT_NEAR(forms.at({"* Click Linux, now", "* Nun (Linux) klicken"}), 1000, 100);
  EXPECT_NEAR(forms.at({"Click Linux, now *", "Nun (Linux) klicken *"}), 1000, 100);
  EXPECT_NEAR(forms.at({"Click Linux *, now", "Nun (Linux *) klicken"}), 1000, 100);
}

TEST(InlineMarks, PutTheSameEmojiInBothSidesAndMoreThan900DifferentOnes) {
  std::set<std::string> seen;
  for (uint64_t pair = 0; pair < 20'000; ++pair) {
    const auto [source, target] = marked({.emoji = 1}, {"a", "b"}, {.pair = pair});
    const std::string emoji = source.front() == 'a' ? source.substr(2) : source.substr(0, 4);
    ASSERT_TRUE(target == emoji + " b" || target == "b " + emoji) << target;
    ASSERT_TRUE(is_symbol(code_point_at(emoji, 0).value) || code_point_at(emoji, 0).value >= 0x1F3FB) << emoji;
    seen.insert(emoji);
  }
  EXPECT_GT(seen.size(), 900u);
}

TEST(InlineMarks, EncloseBothSidesOrANameInElements) {
  const std::map<Sides, int> forms = forms_of({.markup = 1}, {"on Linux 5.", "mit Linux auf 5 los"});
  for (const std::string name : {"b", "i", "u", "em", "strong", "code", "span", "a", "g"}) {
    const std::string open = "<" + name + ">", close = "</" + name + ">";
    EXPECT_TRUE(forms.contains({open + "on Linux 5." + close, open + "mit Linux auf 5 los" + close})) << name;
    EXPECT_TRUE(
        forms.contains({"on " + open + "Linux" + close + " 5.", "mit " + open + "Linux" + close + " auf 5 los"}));
    EXPECT_TRUE(
        forms.contains({"on Linux " + open + "5" + close + ".", "mit Linux auf " + open + "5" + close + " los"}));
  }
  for (const std::string name : {"br", "x", "ph"})
    EXPECT_TRUE(forms.contains({"on Linux 5. <" + name + "/>", "mit Linux auf 5 los <" + name + "/>"})) << name;
  std::set<Sides> places;
  for (const auto& [form, times] : forms) places.insert({with_any_name(form.first), with_any_name(form.second)});
  EXPECT_EQ(places.size(), 3u + 4u);
}

TEST(InlineMarks, HaveNamesAndIdsThatAreDrawnInHalfOfThem) {
  std::set<std::string> names, ids;
  for (uint64_t pair = 0; pair < 20'000; ++pair) {
    const std::string text = marked({.markup = 1}, {"a", "b"}, {.pair = pair}).second;
    names.insert(text.substr(text.find('<') + 1, text.find_first_of(" />", text.find('<')) - text.find('<') - 1));
    if (const size_t id = text.find(" id=\""); id != std::string::npos)
      ids.insert(text.substr(id + 5, text.find('"', id + 5) - id - 5));
  }
  EXPECT_GT(names.size(), 3000u);
  EXPECT_GT(ids.size(), 900u);
}

TEST(InlineMarks, GiveEverySecondMarkAnId) {
  int with_id = 0;
  for (uint64_t pair = 0; pair < 2000; ++pair) {
    const auto [source, target] = marked({.markup = 1}, {"a", "b"}, {.pair = pair});
    with_id += source.find(" id=\"") != std::string::npos;
    EXPECT_EQ(source.find(" id=\"") != std::string::npos, target.find(" id=\"") != std::string::npos);
  }
  EXPECT_NEAR(with_id, 1000, 100);
}

TEST(InlineMarks, StandAtNamesThatAreOnceInEachSide) {
  const auto places = [](const Sides& sides) { return forms_of({.emoji = 1}, sides).size(); };
  EXPECT_EQ(places({"in Bonn nun", "in Bonn nun"}), 3u) << "words in lower case are no names";
  EXPECT_EQ(places({"Bonn Bonn", "Bonn"}), 2u);
  EXPECT_EQ(places({"Bonn", "Köln"}), 2u);
  EXPECT_EQ(places({"iPhone 7", "7 iPhone"}), 4u);
  EXPECT_EQ(places({"- (", "( -"}), 2u);
}

TEST(InlineMarks, KeepTheirRatesAndArePureFunctionsOfThePlace) {
  const MarkRates rates = parse_mark_rates("--insert", "emoji=0.2,markup=0.3");
  constexpr int kPairs = 20000;
  int emoji = 0, markup = 0, same = 0;
  for (uint64_t pair = 0; pair < kPairs; ++pair) {
    const NoisePlace place{.seed = 4, .pair = pair, .visit = 1};
    const Sides got = marked(rates, {"a", "b"}, place);
    ASSERT_EQ(got, marked(rates, {"a", "b"}, place));
    const std::string& text = got.first;
    markup += text.find('<') != std::string::npos;
    emoji += std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) == 0xf0; });
    same += got == marked(rates, {"a", "b"}, {.seed = 4, .pair = pair, .visit = 2});
  }
  EXPECT_NEAR(emoji, 0.2 * kPairs, 0.01 * kPairs);
  EXPECT_NEAR(markup, 0.3 * kPairs, 0.01 * kPairs);
  EXPECT_NEAR(same, 0.8 * 0.8 * 0.7 * 0.7 * kPairs, 0.02 * kPairs) << "where neither visit has a mark";
}

TEST(InlineMarks, LeaveTextAloneWithoutARate) {
  EXPECT_FALSE(parse_mark_rates("--insert", "").any());
  EXPECT_EQ(marked({}, {"a", "b"}, {}), Sides("a", "b"));
}

TEST(InlineMarks, RefuseWhatIsNoRateInOneLine) {
  expect_error([] { parse_mark_rates("--insert", "smile=0.1"); }, ErrorKind::usage,
               {"--insert smile=0.1: 'smile' is not a kind of mark; give one of emoji, markup"});
  expect_error([] { parse_mark_rates("--insert", "emoji=2"); }, ErrorKind::usage, {"'2' is not a rate; give a number"});
}

}  // namespace
}  // namespace weft
