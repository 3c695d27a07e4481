// tests/support/grid_comparison.h: compares loss and gathered gradients of a grid with those of a single
// rank, and checks that the comparison can fail.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/small_model.h"

namespace weft::testing {

struct Grid {
  int dp = 1, tp = 1;
  bool sequence = false;
  std::string name() const { return fmt::format("dp {} x tp {}{}", dp, tp, sequence ? " with split rows" : ""); }
};

inline constexpr double kLossTolerance = 2e-6, kGradientTolerance = 2e-5;  // relative; a gradient's in its norm

inline double norm_of(const std::vector<float>& x) { return relative_error(std::vector<float>(x.size()), x); }

// One line for each difference beyond rounding: "loss: ...", "encoder.0.feed_forward.up.weight: ...".
inline std::vector<std::string> differences(const GridResult& got, const GridResult& want) {
  std::vector<std::string> found;
  const auto compare_sums = [&](const char* what, double a, double b) {
    if (!(std::abs(a - b) <= kLossTolerance * std::abs(b)))
      found.push_back(fmt::format("{}: {:.9g} instead of {:.9g}", what, a, b));
  };
  compare_sums("loss", got.loss.loss, want.loss.loss);
  compare_sums("nll", got.loss.nll, want.loss.nll);
  if (got.gradients.size() != want.gradients.size())
    found.push_back(fmt::format("{} parameters instead of {}", got.gradients.size(), want.gradients.size()));
  for (const auto& [name, gradient] : want.gradients) {
    const auto mine = got.gradients.find(name);
    if (mine == got.gradients.end() || mine->second.size() != gradient.size()) {
      found.push_back(name + ": missing, or of another size");
      continue;
    }
    const double error = relative_error(mine->second, gradient);
    if (!(error <= kGradientTolerance)) found.push_back(fmt::format("{}: relative error {:.3g}", name, error));
  }
  return found;
}

// Errors of ten tolerances that `differences` would miss: in the loss, or in one element of a gradient.
inline std::vector<std::string> blind_spots(GridResult got, const GridResult& want) {
  std::vector<std::string> blind;
  const auto require_seen = [&](const std::string& name) {
    const std::vector<std::string> found = differences(got, want);
    if (found.size() != 1 || !found.front().starts_with(name + ": ")) blind.push_back(name);
  };
  for (double* sum : {&got.loss.loss, &got.loss.nll}) {
    const double kept = *sum;
    *sum *= 1 + 10 * kLossTolerance;
    require_seen(sum == &got.loss.loss ? "loss" : "nll");
    *sum = kept;
  }
  for (auto& [name, gradient] : got.gradients) {
    float& element = gradient[gradient.size() / 2];
    const float kept = element;
    element += static_cast<float>(10 * kGradientTolerance * norm_of(want.gradients.at(name)));
    require_seen(name);
    element = kept;
  }
  return blind;
}

}  // namespace weft::testing
