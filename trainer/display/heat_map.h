// trainer/display/heat_map.h: draws a matrix as an SVG 1.1 heat map: one file without scripts, fonts or links.
//
// Equal input gives equal bytes. The colors range from white to dark blue, and their order is visible with every kind
// of color vision and in gray. Cells of the same color share a path, which keeps files of large matrices small.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct HeatMap {
  std::string title;
  std::string row_axis, column_axis;       // axis titles; empty: none
  std::vector<std::string> rows, columns;  // labels, UTF-8; empty: no label
  std::vector<float> values;               // [rows, columns]; not finite: gray
  double low = 0, high = 1;                // range of the colors; values outside it are clamped
  int cell = 22;                           // width and height of a cell
  int label_font = 13;                     // font size of row and column labels
};

std::string to_svg(const HeatMap& map);

// Returns red, green and blue of the color at a position between low (0) and high (1).
std::array<uint8_t, 3> colour_of(double place);

}  // namespace weft
