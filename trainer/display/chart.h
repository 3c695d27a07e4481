// trainer/display/chart.h: one or two series, drawn with characters.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft {

struct ChartSeries {
  std::string name;                               // "loss"
  std::vector<std::pair<double, double>> points;  // step, or another place, and value; by place
};

struct ChartOptions {
  int width = 76, height = 12;  // characters, axes and legend included in the width
  bool utf8 = true;             // braille dots, eight to a character; else ASCII
  std::string axis = "step";    // what is horizontal
};

// The first series has its scale at the left, the second at the right. Where both meet, the second is
// visible. Empty text if there is nothing to draw.
std::string draw_chart(const std::vector<ChartSeries>& series, const ChartOptions& options = {});

bool locale_is_utf8();  // by LC_ALL, LC_CTYPE, LANG

}  // namespace weft
