// trainer/display/chart.cpp: draws series on a grid of dots and prints the grid as text.
#include "trainer/display/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string_view>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int kLabelWidth = 8;

struct AxisRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void take(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  void widen() {  // centers a flat line
    if (high > low) return;
    const double margin = low == 0 ? 1 : std::abs(low) * 0.1;
    low -= margin;
    high += margin;
  }
  int place(double v, int cells) const {
    return std::clamp(static_cast<int>(std::lround((v - low) / (high - low) * (cells - 1))), 0, cells - 1);
  }
};

using Points = std::vector<std::pair<double, double>>;

// Excludes infinities, NaN and numbers that are too large for a readable axis.
bool is_drawable(double value) { return std::abs(value) <= 1e15; }

Points drawable_points(const ChartSeries& series) {
  Points points;
  for (const auto& p : series.points)
    if (is_drawable(p.first) && is_drawable(p.second)) points.push_back(p);
  return points;
}

// A character cell is one dot in ASCII and 2 x 4 dots in braille. A cell belongs to the series drawn into it last.
class Canvas {
 public:
  Canvas(int columns, int rows, bool utf8)
      : columns_(columns), rows_(rows), utf8_(utf8), dots_(columns * rows, 0), owner_(columns * rows, -1) {}

  int dots_wide() const { return columns_ * (utf8_ ? 2 : 1); }
  int dots_high() const { return rows_ * (utf8_ ? 4 : 1); }

  void dot(int x, int y, int series) {  // y counts from the bottom
    const int from_top = dots_high() - 1 - y;
    const int cell = utf8_ ? from_top / 4 * columns_ + x / 2 : from_top * columns_ + x;
    if (owner_[cell] != series) dots_[cell] = 0;
    owner_[cell] = series;
    static constexpr int kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};  // Unicode's order
    dots_[cell] |= utf8_ ? kBits[from_top % 4][x % 2] : 1;
  }

  // Draws a line with at least one dot per column.
  void line(int x0, int y0, int x1, int y1, int series) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    const auto between = [&](int from, int to, int i) {
      return static_cast<int>(std::lround(from + static_cast<double>(to - from) * i / steps));
    };
    for (int i = 0; i <= steps; ++i) dot(between(x0, x1, i), between(y0, y1, i), series);
  }

  void mark(int x, int y) {  // marks a value of the second series with one character
    const int from_top = dots_high() - 1 - y;
    const int cell = utf8_ ? from_top / 4 * columns_ + x / 2 : from_top * columns_ + x;
    owner_[cell] = 1;
    dots_[cell] = -1;
  }

  std::string row(int r) const {
    std::string text;
    for (int c = 0; c < columns_; ++c) text += sign(dots_[r * columns_ + c], owner_[r * columns_ + c]);
    return text;
  }

 private:
  std::string sign(int dots, int series) const {
    if (dots == 0) return " ";
    if (dots < 0) return utf8_ ? "●" : "o";
    if (!utf8_) return series == 0 ? "*" : "-";
    const int code = 0x2800 + dots;  // takes three UTF-8 bytes
    return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
            static_cast<char>(0x80 | (code & 0x3F))};
  }

  int columns_, rows_;
  bool utf8_;
  std::vector<int> dots_, owner_;
};

std::string label(double value) {
  if (value == 0) return "0";
  return std::abs(value) >= 1e5 || std::abs(value) < 1e-2 ? fmt::format("{:.1e}", value) : fmt::format("{:.4g}", value);
}

void draw_series(Canvas& canvas, const Points& points, const AxisRange& x, const AxisRange& y, int index) {
  int before_x = -1, before_y = 0;
  for (const auto& [step, value] : points) {
    const int px = x.place(step, canvas.dots_wide()), py = y.place(value, canvas.dots_high());
    if (before_x < 0) before_x = px, before_y = py;
    canvas.line(before_x, before_y, px, py, index);
    before_x = px, before_y = py;
  }
  if (index == 0) return;
  for (const auto& [step, value] : points)
    canvas.mark(x.place(step, canvas.dots_wide()), y.place(value, canvas.dots_high()));
}

// Contains the points of each series and the axis ranges that they need (infinite if no point can be drawn).
struct Plot {
  std::vector<Points> points;
  AxisRange x;
  std::vector<AxisRange> y;

  explicit Plot(const std::vector<ChartSeries>& series) : y(series.size()) {
    for (size_t s = 0; s < series.size(); ++s) {
      points.push_back(drawable_points(series[s]));
      for (const auto& [step, value] : points[s]) x.take(step), y[s].take(value);
      y[s].widen();
    }
    if (!is_empty()) x.widen();
  }
  bool is_empty() const { return !std::isfinite(x.low); }
  bool has_two() const { return points.size() == 2 && !points[1].empty(); }
};

std::string legend(const std::vector<ChartSeries>& series, bool two, bool utf8) {
  return fmt::format("{:>{}} {}{}\n", "", kLabelWidth, series[0].name + (utf8 ? " ⣀⠤⠒" : " *"),
                     two ? "   " + series[1].name + (utf8 ? " ●" : " o") : "");
}

std::string rows_with_labels(const Canvas& canvas, const Plot& plot, int rows, bool utf8) {
  const char* wall = utf8 ? "│" : "|";
  std::string text;
  for (int r = 0; r < rows; ++r) {
    const double height = 1 - static_cast<double>(r) / (rows - 1);
    const bool labelled = r == 0 || r == rows - 1 || r == (rows - 1) / 2;
    const auto at = [&](const AxisRange& range) {
      return labelled && std::isfinite(range.low) ? label(range.low + height * (range.high - range.low)) : "";
    };
    std::string line = fmt::format("{:>{}} {}{}", at(plot.y[0]), kLabelWidth, wall, canvas.row(r));
    if (plot.has_two()) line += fmt::format("{} {}", wall, at(plot.y[1]));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string horizontal_axis(const std::string& name, const Plot& plot, int columns, bool utf8) {
  std::string axis;
  for (int c = 0; c < columns; ++c) axis += utf8 ? "─" : "-";
  const auto place = [&](double value) {
    return plot.x.high - plot.x.low >= 10 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
  };
  const std::string first = fmt::format("{} {}", name, place(plot.x.low)), last = place(plot.x.high);
  return fmt::format("{:>{}} {}{}{}\n{:>{}}  {}{:>{}}\n", "", kLabelWidth, utf8 ? "└" : "+", axis,
                     plot.has_two() ? (utf8 ? "┘" : "+") : "", "", kLabelWidth, first, last,
                     columns - static_cast<int>(first.size()));
}

constexpr size_t kMaxPoints = 4096, kColumns = kMaxPoints / 4;  // more columns than a wide terminal has dots

// Divides the points into columns of equal width. Returns the lowest and the highest point of each column, between the
// first and the last point.
Points thinned_out(const Points& points) {
  const double from = points.front().first, width = points.back().first - from;
  const auto column = [&](const auto& p) { return width > 0 ? std::floor((p.first - from) / width * kColumns) : 0; };
  Points kept{points.front()};
  const auto last = std::prev(points.end());
  for (auto begin = std::next(points.begin()); begin != last;) {
    const auto end = std::find_if(begin, last, [&](const auto& p) { return column(p) != column(*begin); });
    const auto [low, high] = std::minmax_element(begin, end, [](auto& a, auto& b) { return a.second < b.second; });
    kept.push_back(*std::min(low, high));
    if (low != high) kept.push_back(*std::max(low, high));
    begin = end;
  }
  kept.push_back(*last);
  return kept;
}

}  // namespace

void ChartSeries::add(double x, double y) {
  if (!is_drawable(x) || !is_drawable(y)) return;
  if (points.size() >= kMaxPoints) points = thinned_out(points);
  points.emplace_back(x, y);
}

std::string draw_chart(const std::vector<ChartSeries>& series, const ChartOptions& options) {
  require(series.size() <= 2, ErrorKind::internal, "a chart has at most two series");
  const Plot plot(series);
  if (plot.is_empty()) return "";
  const bool two = plot.has_two();
  const int columns = std::max(options.width - kLabelWidth * (two ? 2 : 1) - (two ? 4 : 2), 10);
  const int rows = std::max(options.height - 3, 2);  // legend, axis, steps
  Canvas canvas(columns, rows, options.utf8);
  for (size_t s = 0; s < series.size(); ++s)
    draw_series(canvas, plot.points[s], plot.x, plot.y[s], static_cast<int>(s));
  return legend(series, two, options.utf8) + rows_with_labels(canvas, plot, rows, options.utf8) +
         horizontal_axis(options.axis, plot, columns, options.utf8);
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

}  // namespace weft
