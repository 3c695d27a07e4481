// launch/reports/run_curves.cpp: takes the chosen curves out of the logs and gives them to a chart.
#include "launch/reports/run_curves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "data/text/split.h"
#include "tensor/error.h"
#include "trainer/display/svg_chart.h"

namespace weft {
namespace {

struct NamedCurve {
  std::string key, label;
  size_t colour;  // if there is one run
  bool right;     // its scale
};

// Of the curve in all runs.
double largest_value(const std::vector<RunCurves>& runs, const std::string& key, CurveAxis axis) {
  double most = 0;
  for (const RunCurves& run : runs)
    for (const auto& [x, y] : curve_of(run.log, key, axis).points)
      if (std::isfinite(y)) most = std::max(most, std::abs(y));
  return most;
}

// A scale shows both curves if neither looks like a straight line at its end.
bool share_a_scale(double a, double b) {
  constexpr double kMost = 5;
  return a == 0 || b == 0 || (a < kMost * b && b < kMost * a);
}

std::vector<NamedCurve> curves_of(const std::vector<RunCurves>& runs, const CurveChoice& choice) {
  if (choice.names.empty()) {
    if (runs.size() > 1) return {{"loss", "loss", 0, false}, {"bleu", "BLEU", 1, true}};
    return {{"loss", "loss", 0, false}, {"valid_loss", "validation loss", 5, false}, {"bleu", "BLEU", 1, true}};
  }
  std::set<std::string> known;
  for (const RunCurves& run : runs)
    for (const std::string& name : drawable_names(run.log)) known.insert(printable(name));
  std::vector<NamedCurve> curves;
  for (const std::string& name : split_at_commas(choice.names)) {
    if (!known.contains(printable(name)))
      fail(ErrorKind::usage, fmt::format("curve = {}: the log has {}", printable(name), fmt::join(known, ", ")));
    curves.push_back({name, name, curves.size(), false});
    curves.back().right =
        !share_a_scale(largest_value(runs, curves.front().key, choice.axis), largest_value(runs, name, choice.axis));
  }
  return curves;
}

std::string title_of(CurveAxis axis) {
  return axis == CurveAxis::tokens ? "target tokens" : axis == CurveAxis::hours ? "hours of steps" : "step";
}

}  // namespace

std::string draw_run(const RunCurves& run, const CurveChoice& choice) {
  std::vector<NamedCurve> curves = curves_of({run}, choice);
  if (choice.names.empty()) curves.erase(curves.begin() + 1);
  if (curves.size() > 2)
    fail(ErrorKind::usage, "--chart draws one or two curves: give fewer, or --svg FILE, which draws any number");
  std::vector<ChartSeries> series;
  for (const NamedCurve& curve : curves) {
    series.push_back(curve_of(run.log, curve.key, choice.axis));
    series.back().name = curve.label;
  }
  return draw_chart(series, {.utf8 = locale_is_utf8(), .axis = title_of(choice.axis)});
}

std::string runs_to_svg(const std::vector<RunCurves>& runs, const CurveChoice& choice) {
  const std::vector<NamedCurve> curves = curves_of(runs, choice);
  const bool several = runs.size() > 1;
  const size_t groups = (runs.size() + kSvgColours - 1) / kSvgColours;  // of runs with different colours
  SvgChart chart{.title = several ? "" : runs.front().name, .axis = title_of(choice.axis), .lines = {}};
  for (size_t i = 0; i < curves.size(); ++i) {
    bool is_drawn = false;
    for (size_t run = 0; run < runs.size(); ++run) {
      ChartSeries series = curve_of(runs[run].log, curves[i].key, choice.axis);
      is_drawn |= !series.points.empty();
      series.name = !several            ? curves[i].label
                    : curves.size() > 1 ? runs[run].name + ": " + curves[i].label
                                        : runs[run].name;
      chart.lines.push_back({.series = std::move(series),
                             .colour = several ? run : curves[i].colour,
                             .dash = several ? i * groups + run / kSvgColours : i / kSvgColours,
                             .right = curves[i].right});
    }
    if (several && is_drawn) chart.title += (chart.title.empty() ? "" : ", ") + curves[i].label;
  }
  return to_svg(chart);
}

}  // namespace weft
