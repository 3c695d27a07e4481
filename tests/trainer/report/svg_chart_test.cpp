// tests/trainer/report/svg_chart_test.cpp: charts as SVG.
#include "trainer/report/svg_chart.h"

#include <gtest/gtest.h>

#include <limits>

namespace weft {
namespace {

std::string points_of(const std::string& svg) {
  const std::string begin = "points=\"";
  const size_t at = svg.find(begin) + begin.size();
  return svg.substr(at, svg.find('"', at) - at);
}

TEST(SvgChart, DrawsAFallingSeriesFromTopLeftToBottomRight) {
  EXPECT_EQ(points_of(to_svg({.title = "run", .left = {{"loss", {{0, 6}, {500, 4}, {1000, 2}}}}, .right = {}})),
            "64.0,74.0 380.0,191.0 696.0,308.0");
}

TEST(SvgChart, NamesEverySeriesAndTheAxisAtTheRight) {
  const std::string svg = to_svg({.title = "a < b", .left = {{"loss", {{1, 6}}}}, .right = {{"BLEU", {{1, 30}}}}});
  for (const char* text : {">a &lt; b<", ">loss<", ">BLEU (right)<", ">step<"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
}

TEST(SvgChart, DrawsLongSeriesAsMeans) {
  ChartSeries loss{"loss", {}};
  for (int step = 0; step < 480; ++step) loss.points.emplace_back(step, step % 2);
  const std::string svg = to_svg({.title = "", .left = {loss}, .right = {}});
  EXPECT_NE(svg.find("loss, means of 2"), std::string::npos);
  const std::string points = points_of(svg);
  EXPECT_EQ(std::count(points.begin(), points.end(), ','), 240);
}

TEST(SvgChart, LeavesOutWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(to_svg({.title = "", .left = {{"loss", {{1, 6}, {5, nan}, {10, 2}}}}, .right = {}}),
            to_svg({.title = "", .left = {{"loss", {{1, 6}, {10, 2}}}}, .right = {}}));
}

TEST(SvgChart, LeavesOutNumbersBeyondAnyScale) {
  EXPECT_EQ(to_svg({.title = "", .left = {{"loss", {{1, 1e30}, {2, 1e30}}}}, .right = {}}), "");
}

TEST(SvgChart, DrawsALargeNumberAlone) {  // a range of 1 around it would have no ticks
  const std::string svg = to_svg({.title = "", .left = {{"loss", {{1, 9e14}}}}, .right = {}});
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_LT(svg.size(), 10000u);
}

TEST(SvgChart, IsEmptyWithoutPoints) { EXPECT_EQ(to_svg({.title = "run", .left = {{"loss", {}}}, .right = {}}), ""); }

}  // namespace
}  // namespace weft
