// tests/trainer/display/svg_chart_test.cpp: charts as SVG.
#include "trainer/display/svg_chart.h"

#include <gtest/gtest.h>

#include <limits>

namespace weft {
namespace {

SvgChart chart_of(ChartSeries series) { return {.title = "", .lines = {{.series = std::move(series)}}}; }

std::string points_of(const std::string& svg) {
  const std::string begin = "points=\"";
  const size_t at = svg.find(begin) + begin.size();
  return svg.substr(at, svg.find('"', at) - at);
}

TEST(SvgChart, DrawsAFallingSeriesFromTopLeftToBottomRight) {
  EXPECT_EQ(points_of(to_svg(chart_of({"loss", {{0, 6}, {500, 4}, {1000, 2}}}))), "64.0,74.0 380.0,191.0 696.0,308.0");
}

TEST(SvgChart, NamesEverySeriesAndTheAxisAtTheRight) {
  const std::string svg =
      to_svg({.title = "a < b",
              .axis = "target tokens",
              .lines = {{.series = {"loss", {{1, 6}}}}, {.series = {"BLEU", {{1, 30}}}, .colour = 1, .right = true}}});
  for (const char* text : {">a &lt; b<", ">loss<", ">BLEU (right)<", ">target tokens<"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
}

TEST(SvgChart, TellsSixRunsApartByColourAndMoreByDashes) {
  SvgChart chart{.title = "", .lines = {}};
  for (size_t run = 0; run < 3; ++run)
    chart.lines.push_back({.series = {"a run with a rather long name " + std::to_string(run), {{1, 1}, {2, 2}}},
                           .colour = run,
                           .dash = run / 2});
  const std::string svg = to_svg(chart);
  for (const char* part : {"stroke=\"#0072b2\"", "stroke=\"#d55e00\"", "stroke=\"#009e73\"", "stroke-dasharray"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  EXPECT_NE(svg.find("height=\"380\""), std::string::npos) << "the legend has two rows: " << svg.substr(0, 200);
}

TEST(SvgChart, CountsManyTokensInMillions) {
  const std::string svg = to_svg(chart_of({"loss", {{0, 3}, {2500000, 2}}}));
  for (const char* text : {">0<", ">0.5M<", ">2.5M<"}) EXPECT_NE(svg.find(text), std::string::npos) << text;
}

TEST(SvgChart, DrawsLongSeriesAsMeans) {
  ChartSeries loss{"loss", {}};
  for (int step = 0; step < 480; ++step) loss.points.emplace_back(step, step % 2);
  const std::string svg = to_svg(chart_of(loss));
  EXPECT_NE(svg.find("loss, means of 2"), std::string::npos);
  const std::string points = points_of(svg);
  EXPECT_EQ(std::count(points.begin(), points.end(), ','), 240);
}

TEST(SvgChart, LeavesOutWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(to_svg(chart_of({"loss", {{1, 6}, {5, nan}, {10, 2}}})), to_svg(chart_of({"loss", {{1, 6}, {10, 2}}})));
}

TEST(SvgChart, LeavesOutNumbersBeyondAnyScale) { EXPECT_EQ(to_svg(chart_of({"loss", {{1, 1e30}, {2, 1e30}}})), ""); }

TEST(SvgChart, DrawsALargeNumberAlone) {  // a range of 1 around it would have no ticks
  const std::string svg = to_svg(chart_of({"loss", {{1, 9e14}}}));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_LT(svg.size(), 10000u);
}

TEST(SvgChart, IsEmptyWithoutPoints) { EXPECT_EQ(to_svg(chart_of({"loss", {}})), ""); }

}  // namespace
}  // namespace weft
