// trainer/display/chart.h: draws one or two series with characters.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft {

struct ChartSeries {
  std::string name;                               // "loss"
  std::vector<std::pair<double, double>> points;  // position (for example, the step) and value; ordered by position
};

struct ChartOptions {
  int width = 76, height = 12;  // in characters; the width includes axes and legend
  bool utf8 = true;             // braille, eight dots per character; otherwise ASCII
  std::string axis = "step";    // label of the horizontal axis
};

// Draws the first series on the left scale and the second, on top, on the right scale. Returns "" without any points.
std::string draw_chart(const std::vector<ChartSeries>& series, const ChartOptions& options = {});

bool locale_is_utf8();  // determined from LC_ALL, LC_CTYPE, LANG

}  // namespace weft
