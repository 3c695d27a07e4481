// trainer/report/svg_chart.h: series over steps as a line chart in SVG. Equal input gives equal bytes.
#pragma once

#include <string>
#include <vector>

#include "trainer/report/chart.h"

namespace weft {

struct SvgChart {
  std::string title;
  std::vector<ChartSeries> left, right;  // by the axis of their scale; at most two each
};

// A series of more than 240 points is drawn as means of neighbouring points. Empty text if there is nothing
// to draw.
std::string to_svg(const SvgChart& chart);

}  // namespace weft
