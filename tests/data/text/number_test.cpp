// tests/data/text/number_test.cpp: texts that are numbers as a whole.
#include "data/text/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace weft {
namespace {

TEST(ParseNumber, TakesWholeTexts) {
  EXPECT_EQ(parse_number<int64_t>("-12"), -12);
  EXPECT_EQ(parse_number<double>("2.5e3"), 2500);
  for (const char* text : {"", " 1", "1 ", "1x", "0x1", "+1"}) {
    EXPECT_EQ(parse_number<int64_t>(text), std::nullopt) << text;
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  }
}

TEST(ParseNumber, RefusesWhatTheTypeCannotHold) {
  EXPECT_EQ(parse_number<int64_t>("1.5"), std::nullopt);
  EXPECT_EQ(parse_number<int64_t>("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_number<uint64_t>("-1"), std::nullopt);
  for (const char* text : {"inf", "-inf", "nan", "1e999"}) EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
}

}  // namespace
}  // namespace weft
