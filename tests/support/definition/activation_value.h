// tests/support/definition/activation_value.h: an activation chosen at run time, and its derivative, in double.
#pragma once

#include "tensor/op/activation.h"

namespace weft::testing {

inline double activation_value(Activation kind, double x) {
  return with_activation(kind, [&](auto function) { return function.value(x); });
}
inline double activation_derivative(Activation kind, double x) {
  return with_activation(kind, [&](auto function) { return function.derivative(x); });
}

}  // namespace weft::testing
