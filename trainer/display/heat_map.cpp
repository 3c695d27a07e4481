// trainer/display/heat_map.cpp: computes the layout, then draws cells, labels and legend.
#include "trainer/display/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/text/unicode.h"
#include "tensor/error.h"
#include "trainer/display/svg.h"

namespace weft {
namespace {

constexpr int kLevels = 100;  // steps of the color scale
constexpr double kFont = kSvgFont, kSmallFont = 11, kTitleFont = 15, kMargin = 14, kLegendWidth = 14;
constexpr double kSlope = 0.70710678;  // column labels rise at 45 degrees
constexpr int kSmallestCellWithLines = 10;

struct Colour {
  double red, green, blue;
};
using Palette = std::array<Colour, 5>;
constexpr Palette kPalette{{{255, 255, 255}, {199, 221, 240}, {112, 168, 214}, {33, 102, 172}, {5, 36, 84}}};

std::string hex(const Colour& c) {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(c.red), std::lround(c.green), std::lround(c.blue));
}

Colour mixed(double share) {
  const double place = share * (kPalette.size() - 1);
  const size_t i = std::min(static_cast<size_t>(place), kPalette.size() - 2);
  const double part = place - static_cast<double>(i);
  const auto mix = [&](double a, double b) { return a + part * (b - a); };
  const Colour &a = kPalette[i], &b = kPalette[i + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

std::string colour_at(int level) { return hex(mixed(static_cast<double>(level) / kLevels)); }

// Returns the approximate width of a text. Characters of wide scripts are assumed to be square.
double width_of(const std::string& text, double font) {
  double width = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    width += c.value >= 0x1100 ? 1.0 : 0.62;
    i += static_cast<size_t>(c.num_bytes);
  }
  return width * font;
}

double widest(const std::vector<std::string>& labels, double font) {
  double width = 0;
  for (const std::string& label : labels) width = std::max(width, width_of(label, font));
  return width;
}

struct MapLayout {
  double left, top, width, height;  // area of the cells
  double legend, image_width, image_height;

  explicit MapLayout(const HeatMap& m) {
    const double axis = kFont + 10;
    left = kMargin + widest(m.rows, m.label_font) + 6 + (m.row_axis.empty() ? 0 : axis);
    top = kMargin + (m.title.empty() ? 0 : kTitleFont + 12) + (m.column_axis.empty() ? 0 : axis) +
          widest(m.columns, m.label_font) * kSlope + 10;
    width = static_cast<double>(m.columns.size()) * m.cell;
    height = static_cast<double>(m.rows.size()) * m.cell;
    double right = left + width;
    for (size_t i = 0; i < m.columns.size(); ++i)
      right = std::max(right, column_centre(m, i) + (width_of(m.columns[i], m.label_font) + m.label_font) * kSlope);
    legend = left + width + 24;
    image_width = std::max({right, legend + kLegendWidth + 44, kMargin + width_of(m.title, kTitleFont)}) + kMargin;
    image_height = top + std::max(height, legend_height()) + kMargin;
  }
  double column_centre(const HeatMap& m, size_t i) const { return left + (static_cast<double>(i) + 0.5) * m.cell; }
  double legend_height() const { return std::clamp(height, 80.0, 240.0); }
};

int level_of(const HeatMap& m, float value) {  // -1: not finite
  if (!std::isfinite(value)) return -1;
  const double place = (static_cast<double>(value) - m.low) / (m.high - m.low);
  return static_cast<int>(std::lround(std::clamp(place, 0.0, 1.0) * kLevels));
}

// Draws one path of rectangles per color, in units of cells, and merges adjacent cells of equal color.
std::string cells(const HeatMap& m, const MapLayout& at) {
  std::vector<std::string> paths(kLevels + 2);  // the last path is for values that are not finite
  const size_t columns = m.columns.size();
  for (size_t r = 0; r < m.rows.size(); ++r)
    for (size_t begin = 0, end; begin < columns; begin = end) {
      const int level = level_of(m, m.values[r * columns + begin]);
      for (end = begin + 1; end < columns && level_of(m, m.values[r * columns + end]) == level;) ++end;
      paths[static_cast<size_t>(level < 0 ? kLevels + 1 : level)] +=
          fmt::format("M{} {}h{}v1h-{}z", begin, r, end - begin, end - begin);
    }
  std::string text =
      fmt::format("<g transform=\"translate({:.1f} {:.1f}) scale({} {})\" shape-rendering=\"crispEdges\">\n", at.left,
                  at.top, m.cell, m.cell);
  for (int level = 0; level <= kLevels + 1; ++level) {
    const std::string& path = paths[static_cast<size_t>(level)];
    if (path.empty()) continue;
    text += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", level > kLevels ? "#b0b0b0" : colour_at(level), path);
  }
  return text + "</g>\n";
}

std::string frame_and_lines(const HeatMap& m, const MapLayout& at) {
  std::string lines;
  if (m.cell >= kSmallestCellWithLines) {
    for (size_t c = 1; c < m.columns.size(); ++c)
      lines += fmt::format("M{:.1f} {:.1f}v{:.1f}", at.left + static_cast<double>(c) * m.cell, at.top, at.height);
    for (size_t r = 1; r < m.rows.size(); ++r)
      lines += fmt::format("M{:.1f} {:.1f}h{:.1f}", at.left, at.top + static_cast<double>(r) * m.cell, at.width);
  }
  std::string text;
  if (!lines.empty()) text = fmt::format("<path fill=\"none\" stroke=\"#e4e7eb\" d=\"{}\"/>\n", lines);
  return text + fmt::format(
                    "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
                    "stroke=\"#8a929c\"/>\n",
                    at.left, at.top, at.width, at.height);
}

std::string labels(const HeatMap& m, const MapLayout& at) {
  const std::string font = m.label_font == kFont ? "" : fmt::format(" font-size=\"{}\"", m.label_font);
  std::string text;
  for (size_t r = 0; r < m.rows.size(); ++r)
    if (!m.rows[r].empty())
      text += svg_text(at.left - 7, at.top + (static_cast<double>(r) + 0.5) * m.cell + 0.35 * m.label_font,
                       font + " text-anchor=\"end\"", m.rows[r]);
  for (size_t c = 0; c < m.columns.size(); ++c) {
    if (m.columns[c].empty()) continue;
    const double x = at.column_centre(m, c) + 0.3 * m.label_font, y = at.top - 7;
    text += svg_text(x, y, font + fmt::format(" transform=\"rotate(-45 {:.1f} {:.1f})\"", x, y), m.columns[c]);
  }
  if (!m.title.empty())
    text += svg_text(kMargin, kMargin + kTitleFont, fmt::format(" font-size=\"{}\" font-weight=\"bold\"", kTitleFont),
                     m.title);
  const std::string muted = " fill=\"#5b6570\" text-anchor=\"middle\"";
  const double axis = kMargin + kFont;
  if (!m.row_axis.empty()) {
    const double y = at.top + at.height / 2;
    text += svg_text(axis, y, muted + fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", axis, y), m.row_axis);
  }
  if (!m.column_axis.empty())
    text += svg_text(at.left + at.width / 2, axis + (m.title.empty() ? 0 : kTitleFont + 12), muted, m.column_axis);
  return text;
}

std::string legend(const HeatMap& m, const MapLayout& at) {
  std::string text = "<defs><linearGradient id=\"sequential\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">\n";
  for (size_t i = 0; i < kPalette.size(); ++i)
    text += fmt::format("<stop offset=\"{}\" stop-color=\"{}\"/>\n",
                        static_cast<double>(i) / static_cast<double>(kPalette.size() - 1), hex(kPalette[i]));
  text += fmt::format(
      "</linearGradient></defs>\n<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "fill=\"url(#sequential)\" stroke=\"#8a929c\"/>\n",
      at.legend, at.top, kLegendWidth, at.legend_height());
  for (const double part : {0.0, 0.5, 1.0})
    text +=
        svg_text(at.legend + kLegendWidth + 6, at.top + (1 - part) * at.legend_height() + 0.35 * kSmallFont,
                 fmt::format(" font-size=\"{}\"", kSmallFont), fmt::format("{:.3g}", m.low + part * (m.high - m.low)));
  return text;
}

}  // namespace

std::string to_svg(const HeatMap& m) {
  require(m.values.size() == m.rows.size() * m.columns.size(), ErrorKind::internal,
          "a heat map needs a value for each cell");
  require(m.high > m.low && m.cell > 0, ErrorKind::internal, "a heat map needs a range and a cell size");
  const MapLayout at(m);
  const std::string drawn = m.values.empty() ? "" : cells(m, at) + frame_and_lines(m, at) + legend(m, at);
  return svg_document(at.image_width, at.image_height, m.title, drawn + labels(m, at));
}

std::array<uint8_t, 3> colour_of(double place) {
  const Colour c = mixed(std::clamp(place, 0.0, 1.0));
  const auto byte = [](double value) { return static_cast<uint8_t>(std::lround(value)); };
  return {byte(c.red), byte(c.green), byte(c.blue)};
}

}  // namespace weft
