// trainer/display/svg_chart.cpp: computes the scales, then draws grid, lines and legend.
#include "trainer/display/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/error.h"
#include "trainer/display/svg.h"
#include "trainer/display/units.h"

namespace weft {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr double kWidth = 760, kPlotHeight = 234, kLeft = 64, kRight = 64, kLegend = 46, kLegendRow = 20, kBottom = 52;
constexpr size_t kMostPoints = 240, kMostMarks = 60;
// Of Okabe and Ito (2008), which all kinds of colour vision can tell apart, dark enough for white.
constexpr const char* kColours[kSvgColours] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9"};
constexpr const char* kDashes[] = {"", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 3\"",
                                   " stroke-dasharray=\"9 3 2 3\""};
constexpr const char* kAxisColour = "#5b6570";

struct Line {
  std::string name;
  const char *colour, *dash;
  bool right;
  Points points;
  size_t each = 1;  // number of points of the series averaged in one drawn point
};

Line line_of(const SvgSeries& drawn) {
  Points finite;
  for (const auto& p : drawn.series.points)
    if (is_drawable(p.first) && is_drawable(p.second)) finite.push_back(p);
  Line line{.name = drawn.series.name,
            .colour = kColours[drawn.colour % kSvgColours],
            .dash = kDashes[drawn.dash % std::size(kDashes)],
            .right = drawn.right,
            .points = {},
            .each = (finite.size() + kMostPoints - 1) / kMostPoints};
  for (size_t begin = 0; begin < finite.size(); begin += line.each) {
    const size_t end = std::min(begin + line.each, finite.size());
    double step = 0, value = 0;
    for (size_t i = begin; i < end; ++i) step += finite[i].first, value += finite[i].second;
    line.points.emplace_back(step / static_cast<double>(end - begin), value / static_cast<double>(end - begin));
  }
  if (line.each > 1) line.name += fmt::format(", means of {}", line.each);
  return line;
}

// A range with round numbers at its ends, and the distance between tick marks.
struct Scale {
  double low = std::numeric_limits<double>::infinity(), high = -low, tick = 1;
  bool empty() const { return low > high; }
  void take(double v) { low = std::min(low, v), high = std::max(high, v); }
  void round_out() {
    const double least = 1e-9 * std::max({1.0, std::abs(low), std::abs(high)});  // of a range that rounding leaves
    const double margin = high - low < least ? std::max(0.5, least) : 0;
    low -= margin, high += margin;
    const double rough = (high - low) / 6, power = std::pow(10, std::floor(std::log10(rough)));
    tick = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
    low = std::floor(low / tick) * tick, high = std::ceil(high / tick) * tick;
  }
  int num_ticks() const { return static_cast<int>(std::lround((high - low) / tick)); }
  double at(int i) const { return low + i * tick; }
  double part(double v) const { return (v - low) / (high - low); }
  std::string label(int i) const {  // of a tick: 1,500, 0.25, 2.5M
    const double value = at(i), most = std::max(std::abs(low), std::abs(high));
    if (std::abs(value) < 1e-9 * tick) return "0";
    for (const auto& [unit, letter] : {std::pair{1e9, 'G'}, {1e6, 'M'}})
      if (most >= unit) return fmt::format("{:.6g}{}", value / unit, letter);
    return tick >= 1 ? with_commas(std::lround(value)) : fmt::format("{:.4g}", value);
  }
};

// Places in the drawing; the legend has as many rows as it needs.
class Plot {
 public:
  explicit Plot(const std::string& title, const std::string& axis) : title_(title), axis_(axis) {}

  void add(Line line) {
    for (const auto& [x, value] : line.points) across_.take(x), values_[line.right].take(value);
    if (!line.points.empty()) lines_.push_back(std::move(line));
  }

  std::string draw() {
    if (across_.empty()) return "";
    const std::string names = legend();
    std::string body = svg_text(kLeft, 26, " font-size=\"15\" font-weight=\"bold\"", title_) + names;
    across_.round_out();
    body += horizontal_axis();
    for (const bool right : {false, true}) {
      if (values_[right].empty()) continue;
      values_[right].round_out();
      body += vertical_axis(right);
    }
    for (const Line& line : lines_) body += polyline(line);
    body += fmt::format("<path fill=\"none\" stroke=\"#8a929c\" d=\"M{0} {1}V{2}H{3}V{1}\"/>\n", kLeft, top_, bottom(),
                        kWidth - kRight);
    return svg_document(kWidth, bottom() + kBottom, title_, body);
  }

 private:
  double bottom() const { return top_ + kPlotHeight; }
  double x_of(double x) const { return kLeft + across_.part(x) * (kWidth - kLeft - kRight); }
  double y_of(const Line& line, double value) const { return bottom() - values_[line.right].part(value) * kPlotHeight; }

  std::string legend() {
    std::string text;
    double x = kLeft, y = kLegend;
    for (const Line& line : lines_) {
      const std::string name = line.name + (line.right ? " (right)" : "");
      const double width = 28 + 0.62 * kSvgFont * static_cast<double>(name.size()) + 20;
      if (x > kLeft && x + width - 20 > kWidth - 8) x = kLeft, y += kLegendRow;
      text += fmt::format("<path stroke=\"{}\" stroke-width=\"3\"{} d=\"M{} {}h22\"/>\n", line.colour, line.dash, x, y);
      text += svg_text(x + 28, y + 5, "", name);
      x += width;
    }
    top_ = y + 28;
    return text;
  }

  std::string polyline(const Line& line) const {
    std::string places, marks;
    for (const auto& [across, value] : line.points) {
      const double x = x_of(across), y = y_of(line, value);
      places += fmt::format("{}{:.1f},{:.1f}", places.empty() ? "" : " ", x, y);
      if (line.points.size() <= kMostMarks)
        marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n", x, y);
    }
    return fmt::format(
        "<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{3} points=\"{1}\"/>\n"
        "<g fill=\"{0}\">\n{2}</g>\n",
        line.colour, places, marks, line.dash);
  }

  // Its numbers have the colour of its lines if all have one.
  std::string vertical_axis(bool right) const {
    const Scale& values = values_[right];
    const char* colour = nullptr;
    for (const Line& line : lines_)
      if (line.right == right) colour = colour == nullptr || colour == line.colour ? line.colour : kAxisColour;
    std::string text;
    for (int i = 0; i <= values.num_ticks(); ++i) {
      const double y = bottom() - values.part(values.at(i)) * kPlotHeight;
      if (!right) text += fmt::format("<path stroke=\"#e4e7eb\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, y, kWidth - kRight);
      text += svg_text(right ? kWidth - kRight + 8 : kLeft - 8, y + 0.35 * kSvgFont,
                       fmt::format(" fill=\"{}\"{}", colour, right ? "" : " text-anchor=\"end\""), values.label(i));
    }
    return text;
  }

  std::string horizontal_axis() const {
    std::string text;
    for (int i = 0; i <= across_.num_ticks(); ++i)
      text += svg_text(x_of(across_.at(i)), bottom() + 20, " text-anchor=\"middle\"", across_.label(i));
    return text +
           svg_text(kWidth / 2, bottom() + 40, fmt::format(" text-anchor=\"middle\" fill=\"{}\"", kAxisColour), axis_);
  }

  std::string title_, axis_;
  Scale across_, values_[2];  // of left and right
  std::vector<Line> lines_;
  double top_ = 0;
};

}  // namespace

std::string to_svg(const SvgChart& chart) {
  Plot plot(chart.title, chart.axis);
  for (const SvgSeries& series : chart.lines) plot.add(line_of(series));
  return plot.draw();
}

}  // namespace weft
