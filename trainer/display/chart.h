// trainer/display/chart.h: draws a chart of one or two series with characters.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft {

struct ChartSeries {
  std::string name;                               // "loss"
  std::vector<std::pair<double, double>> points;  // x, for example the step, and y; sorted by x

  // Adds a point to the right of the others, unless no chart can show it. A long series is thinned out to the lowest
  // and the highest point of each of many columns, and its ends, so that its chart keeps all extremes.
  void add(double x, double y);
};

struct ChartOptions {
  int width = 76, height = 12;  // in characters; the width includes axes and legend
  bool utf8 = true;             // true: braille, eight dots per character; false: ASCII
  std::string axis = "step";    // label of the horizontal axis
};

// Draws the first series on the left scale, and over it the second on the right scale. Returns "" without points.
std::string draw_chart(const std::vector<ChartSeries>& series, const ChartOptions& options = {});

bool locale_is_utf8();  // determined from LC_ALL, LC_CTYPE, LANG

}  // namespace weft
