// trainer/display/svg_chart.h: series as a line chart in SVG. Equal input gives equal bytes.
#pragma once

#include <string>
#include <vector>

#include "trainer/display/chart.h"

namespace weft {

inline constexpr size_t kSvgColours = 6;

struct SvgSeries {
  ChartSeries series;
  size_t colour = 0, dash = 0;  // of its line: which ones, counted through
  bool right = false;           // its scale
};

struct SvgChart {
  std::string title, axis = "step";  // axis: the title of the horizontal one
  std::vector<SvgSeries> lines;
};

// A series of more than 240 points is drawn as means of neighbouring points. Empty text if there is nothing
// to draw.
std::string to_svg(const SvgChart& chart);

}  // namespace weft
