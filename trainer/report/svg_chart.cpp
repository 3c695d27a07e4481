// trainer/report/svg_chart.cpp: computes the scales, then draws grid, lines and legend.
#include "trainer/report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/error.h"
#include "trainer/report/svg.h"
#include "trainer/report/units.h"

namespace weft {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr double kWidth = 760, kHeight = 360, kLeft = 64, kRight = 64, kTop = 74, kBottom = 52;
constexpr size_t kMostPoints = 240, kMostMarks = 60;
constexpr const char* kColours[2][2] = {{"#2166ac", "#70a8d6"}, {"#b8530c", "#f3a35e"}};  // of left and right

struct Line {
  std::string name;
  Points points;
  size_t each = 1;  // number of points of the series averaged in one drawn point
};

Line line_of(const ChartSeries& series) {
  Points finite;
  for (const auto& p : series.points)
    if (is_drawable(p.first) && is_drawable(p.second)) finite.push_back(p);
  Line line{.name = series.name, .each = (finite.size() + kMostPoints - 1) / kMostPoints};
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
};

double x_of(const Scale& steps, double step) { return kLeft + steps.part(step) * (kWidth - kLeft - kRight); }
double y_of(const Scale& values, double value) {
  return kHeight - kBottom - values.part(value) * (kHeight - kTop - kBottom);
}

std::string polyline(const Line& line, const Scale& steps, const Scale& values, const char* colour) {
  std::string places, marks;
  for (const auto& [step, value] : line.points) {
    const double x = x_of(steps, step), y = y_of(values, value);
    places += fmt::format("{}{:.1f},{:.1f}", places.empty() ? "" : " ", x, y);
    if (line.points.size() <= kMostMarks)
      marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n", x, y);
  }
  return fmt::format(
      "<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"1.8\" points=\"{1}\"/>\n"
      "<g fill=\"{0}\">\n{2}</g>\n",
      colour, places, marks);
}

std::string vertical_axis(const Scale& values, bool right) {
  std::string text;
  for (int i = 0; i <= values.num_ticks(); ++i) {
    const double y = y_of(values, values.at(i));
    if (!right) text += fmt::format("<path stroke=\"#e4e7eb\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, y, kWidth - kRight);
    text += svg_text(right ? kWidth - kRight + 8 : kLeft - 8, y + 0.35 * kSvgFont,
                     fmt::format(" fill=\"{}\"{}", kColours[right][0], right ? "" : " text-anchor=\"end\""),
                     fmt::format("{:.4g}", values.at(i)));
  }
  return text;
}

std::string step_axis(const Scale& steps) {
  std::string text;
  for (int i = 0; i <= steps.num_ticks(); ++i)
    text += svg_text(x_of(steps, steps.at(i)), kHeight - kBottom + 20, " text-anchor=\"middle\"",
                     with_commas(std::lround(steps.at(i))));
  return text + svg_text(kWidth / 2, kHeight - 12, " text-anchor=\"middle\" fill=\"#5b6570\"", "step");
}

}  // namespace

std::string to_svg(const SvgChart& chart) {
  Scale steps, values[2];
  std::vector<Line> lines[2];
  for (const int side : {0, 1}) {
    for (const ChartSeries& series : side == 0 ? chart.left : chart.right) {
      lines[side].push_back(line_of(series));
      for (const auto& [step, value] : lines[side].back().points) steps.take(step), values[side].take(value);
    }
    require(lines[side].size() <= 2, ErrorKind::internal, "an axis has at most two series");
  }
  if (steps.empty()) return "";
  steps.round_out();

  std::string body = svg_text(kLeft, 26, " font-size=\"15\" font-weight=\"bold\"", chart.title) + step_axis(steps);
  double legend = kLeft;
  for (const int side : {0, 1}) {
    if (values[side].empty()) continue;
    values[side].round_out();
    body += vertical_axis(values[side], side == 1);
    for (size_t i = 0; i < lines[side].size(); ++i) {
      const Line& line = lines[side][i];
      if (line.points.empty()) continue;
      body += polyline(line, steps, values[side], kColours[side][i]);
      body += fmt::format("<path stroke=\"{}\" stroke-width=\"3\" d=\"M{} 46h22\"/>\n", kColours[side][i], legend);
      const std::string name = line.name + (side == 1 ? " (right)" : "");
      body += svg_text(legend + 28, 51, "", name);
      legend += 28 + 0.62 * kSvgFont * static_cast<double>(name.size()) + 20;
    }
  }
  body += fmt::format("<path fill=\"none\" stroke=\"#8a929c\" d=\"M{0} {1}V{2}H{3}V{1}\"/>\n", kLeft, kTop,
                      kHeight - kBottom, kWidth - kRight);
  return svg_document(kWidth, kHeight, chart.title, body);
}

}  // namespace weft
