// tests/trainer/display/chart_test.cpp: charts as text.
#include "trainer/display/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace weft {
namespace {

const ChartOptions kSmall{.width = 20, .height = 6, .utf8 = false};

TEST(Chart, DrawsAFallingSeriesFromTopLeftToBottomRight) {
  EXPECT_EQ(draw_chart({{"loss", {{1, 6}, {10, 2}}}}, kSmall),
            "         loss *\n"
            "       6 |***\n"
            "       4 |   ****\n"
            "       2 |       ***\n"
            "         +----------\n"
            "          step 1  10\n");
}

TEST(Chart, GivesEachOfTwoSeriesItsOwnScale) {
  const std::string text = draw_chart({{"loss", {{1, 6}, {10, 2}}}, {"BLEU", {{5, 10}, {10, 30}}}},
                                      {.width = 40, .height = 6, .utf8 = false});
  EXPECT_NE(text.find("loss *   BLEU o"), std::string::npos) << text;
  EXPECT_NE(text.find("o| 30\n"), std::string::npos) << text;
  EXPECT_NE(text.find("| 10\n"), std::string::npos) << text;
}

TEST(Chart, KeepsTheExtremesAndTheEndsOfALongSeries) {
  ChartSeries series{"loss", {}};
  for (int i = 1; i <= 400'000; ++i) series.add(i, i == 123'457 ? 9 : i == 234'567 ? -9 : 1);
  series.add(400'001, std::numeric_limits<double>::infinity());
  EXPECT_LE(series.points.size(), 4096u);
  const auto has = [&](double x, double y) { return std::ranges::count(series.points, std::pair(x, y)) == 1; };
  EXPECT_TRUE(has(1, 1) && has(123'457, 9) && has(234'567, -9) && has(400'000, 1));
  EXPECT_GT(std::ranges::count_if(series.points, [](const auto& p) { return p.first < 100'000; }), 400);
  EXPECT_TRUE(std::ranges::is_sorted(series.points, {}, &std::pair<double, double>::first));
}

TEST(Chart, KeepsEveryRowWithinItsWidth) {
  ChartSeries wave{"loss", {}};
  for (int i = 0; i < 500; ++i) wave.points.push_back({i, i % 17});
  std::istringstream rows(draw_chart({wave, {"BLEU", {{3, 1}, {400, 2}}}}, {.width = 76, .height = 12, .utf8 = true}));
  for (std::string row; std::getline(rows, row);) {
    int characters = 0;
    for (const char c : row) characters += (c & 0xC0) != 0x80;  // bytes that begin a UTF-8 character
    EXPECT_LE(characters, 76) << row;
  }
}

TEST(Chart, LeavesOutWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(draw_chart({{"loss", {{1, 6}, {5, nan}, {10, 2}}}}, kSmall),
            draw_chart({{"loss", {{1, 6}, {10, 2}}}}, kSmall));
}

TEST(Chart, LeavesOutNumbersBeyondAnyScale) {
  EXPECT_EQ(draw_chart({{"loss", {{1, 6}, {5, 1e308}, {7, -1e308}, {1e30, 3}, {10, 2}}}}, kSmall),
            draw_chart({{"loss", {{1, 6}, {10, 2}}}}, kSmall));
}

TEST(Chart, DrawsASinglePointAndAFlatLine) {
  EXPECT_NE(draw_chart({{"loss", {{7, 3}}}}, kSmall).find('*'), std::string::npos);
  EXPECT_NE(draw_chart({{"loss", {{1, 0}, {2, 0}}}}, kSmall).find("       0 |****"), std::string::npos);
}

TEST(Chart, IsEmptyWithoutPoints) { EXPECT_EQ(draw_chart({{"loss", {}}, {"BLEU", {}}}), ""); }

}  // namespace
}  // namespace weft
