// tests/data/packing/pair_filter_test.cpp: each filter by itself, their order, and what is remembered.
#include "data/packing/pair_filter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"

namespace weft::testing {
namespace {

std::optional<Fault> fault_of(const FilterOptions& options, const char* source, const char* target) {
  return PairFilter(options).of_text({source, target}, /*number=*/0);
}
std::optional<Fault> fault_of(const FilterOptions& options, size_t source, size_t target) {
  return PairFilter(options).of_tokens(
      {.source = std::vector<int32_t>(source, 5), .target = std::vector<int32_t>(target, 5)});
}

TEST(PairFilter, DropsOnlyWhatIsEmptyUnlessAsked) {
  EXPECT_EQ(fault_of({}, "same", "same"), std::nullopt);
  EXPECT_EQ(fault_of({}, "a", " \t"), Fault::empty);
  EXPECT_EQ(fault_of({}, size_t{1}, 250), std::nullopt);
}

TEST(PairFilter, FindsEqualSides) {
  EXPECT_EQ(fault_of({.drop_identical = true}, " same", "same "), Fault::identical);
  EXPECT_EQ(fault_of({.drop_identical = true}, "same", "Same"), std::nullopt);
  EXPECT_EQ(fault_of({.drop_identical = true}, "", ""), Fault::empty);
}

TEST(PairFilter, FindsAWrongScriptOnEachSide) {
  const FilterOptions options{.source_script = "Latin", .target_script = "Cyrillic"};
  EXPECT_EQ(fault_of(options, "yes", "да"), std::nullopt);
  EXPECT_EQ(fault_of(options, "да", "да"), Fault::source_script);
  EXPECT_EQ(fault_of(options, "yes", "yes, да"), Fault::target_script);
  EXPECT_EQ(fault_of(options, "12", "12"), std::nullopt) << "there is no letter of another script";
}

TEST(PairFilter, AllowsTheGivenShareOfOtherLetters) {
  const FilterOptions half{.target_script = "Cyrillic"}, none{.target_script = "Cyrillic", .max_foreign = 0};
  EXPECT_EQ(fault_of(half, "x", "да da"), std::nullopt);
  EXPECT_EQ(fault_of(half, "x", "да dad"), Fault::target_script);
  EXPECT_EQ(fault_of(none, "x", "дааааа d"), Fault::target_script);
}

TEST(PairFilter, CountsTheCharactersOfWordsOnBothSides) {
  EXPECT_EQ(fault_of({.max_word = 4}, "ab cdéf", "x"), std::nullopt);
  EXPECT_EQ(fault_of({.max_word = 4}, "ab cdefg", "x"), Fault::long_word);
  EXPECT_EQ(fault_of({.max_word = 4}, "x", "abcde"), Fault::long_word);
}

TEST(PairFilter, MeasuresLengthsOfBothSides) {
  const FilterOptions options{.min_length = 2, .max_length = 5};
  for (const bool swapped : {false, true}) {
    const auto fault = [&](size_t a, size_t b) { return swapped ? fault_of(options, b, a) : fault_of(options, a, b); };
    EXPECT_EQ(fault(2, 5), std::nullopt);
    EXPECT_EQ(fault(1, 5), Fault::too_short);
    EXPECT_EQ(fault(3, 6), Fault::too_long);
  }
  EXPECT_EQ(fault_of({.max_length = 5, .over_long = OverLong::cut}, size_t{6}, 6), std::nullopt);
}

TEST(PairFilter, ComparesLengths) {
  EXPECT_EQ(fault_of({.max_ratio = 1.5}, size_t{4}, 6), std::nullopt);
  EXPECT_EQ(fault_of({.max_ratio = 1.5}, size_t{4}, 7), Fault::ratio);
  EXPECT_EQ(fault_of({.max_ratio = 1.5}, size_t{7}, 4), Fault::ratio);
}

TEST(PairFilter, RefusesOptionsThatDropEverything) {
  const auto refused = [](const FilterOptions& options, const char* part) {
    expect_error([&] { check_filter_options(options); }, ErrorKind::usage, {part});
  };
  refused({.max_length = 0}, "--max-length 0: must be at least 1");
  refused({.min_length = 0}, "--min-length 0: must be between 1 and");
  refused({.min_length = 300}, "--min-length 300: must be between 1 and --max-length (250)");
  refused({.max_ratio = 0.5}, "--max-ratio 0.5");
  refused({.max_ratio = std::nan("")}, "--max-ratio nan");
  refused({.max_foreign = 1}, "--max-foreign 1");
  refused({.max_word = -1}, "--max-word -1");
  refused({.source_script = "latin"}, "--source-script latin");
  refused({.target_script = "x"}, "--target-script x");
}

TEST(Drops, KeepTheFirstTextsOfEachFaultInOrder) {
  Drops drops(2), later(2);
  drops.add(Fault::empty, {3, {"a", ""}});
  later.add(Fault::empty, {8, {"b", ""}});
  later.add(Fault::empty, {9, {"c", ""}});
  later.add(Fault::ratio, {10, {"d", "e"}});
  drops.add(std::move(later));
  EXPECT_EQ(drops.count(Fault::empty), 3);
  EXPECT_EQ(drops.count(Fault::ratio), 1);
  ASSERT_EQ(drops.first(Fault::empty).size(), 2u);
  EXPECT_EQ(drops.first(Fault::empty)[1].number, 8);
  EXPECT_EQ(drops.first(Fault::empty)[1].text.source, "b");
  EXPECT_EQ(list_of(drops, {.max_ratio = 3}), "3 dropped (a side is empty), 1 dropped (ratio of lengths above 3)");
}

}  // namespace
}  // namespace weft::testing
