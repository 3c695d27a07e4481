// tests/support/definition/gradient_check.h: gradients by central differences of a reference function in double.
#pragma once

#include <functional>
#include <vector>

namespace weft::testing {

using Doubles = std::vector<double>;

// d f / d x as (f(x + h) - f(x - h)) / 2h: accurate to about 1e-9 for smooth f in double.
inline Doubles numerical_gradient(const std::function<double(const Doubles&)>& f, Doubles x, double h = 1e-5) {
  Doubles gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double kept = x[i];
    x[i] = kept + h;
    const double above = f(x);
    x[i] = kept - h;
    const double below = f(x);
    x[i] = kept;
    gradient[i] = (above - below) / (2 * h);
  }
  return gradient;
}

// The scalar that a test differentiates: outputs weighted with backward's d_y.
inline double weighted_sum(const Doubles& y, const Doubles& weights) {
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += y[i] * weights[i];
  return sum;
}

}  // namespace weft::testing
