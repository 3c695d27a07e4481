// tensor/op/activation.h: defines the activation functions, each with its formula, derivative, name and source.
//
// To add a function, add an enumerator, a name, an ActivationFunction and a case in with_activation here, and an option
// in model/config.h (FeedForwardActivation). Backends need no change.
#pragma once

#include <cstdint>

#include "tensor/elementary.h"
#include "tensor/enum_names.h"

namespace weft {

enum class Activation : uint8_t {
  relu,          // max(x, 0)
  gelu,          // x Phi(x), exact (Hendrycks & Gimpel 2016)
  gelu_tanh,     // gelu's approximation by tanh (same source)
  gelu_sigmoid,  // gelu's approximation by a sigmoid, x / (1 + e^-1.702x) (same source, section 2)
  silu,          // x / (1 + e^-x), also called swish (Elfwing et al. 2018; Ramachandran et al. 2017)
  sigmoid        // 1 / (1 + e^-x); only as the gate of a gated linear unit
};

constexpr EnumNames<Activation, 6> enum_names(Activation) {
  return {{{"relu", Activation::relu},
           {"gelu", Activation::gelu},
           {"gelu_tanh", Activation::gelu_tanh},
           {"gelu_sigmoid", Activation::gelu_sigmoid},
           {"silu", Activation::silu},
           {"sigmoid", Activation::sigmoid}}};
}

template <typename T>
WEFT_HD inline T sigmoid(T x) {  // does not overflow
  const T e = exp_of(x < T(0) ? x : -x), p = T(1) / (T(1) + e);
  return x < T(0) ? e * p : p;
}

template <Activation kKind>
struct ActivationFunction;  // defines value(x) and derivative(x), for float and double

template <>
struct ActivationFunction<Activation::relu> {
  template <typename T>
  WEFT_HD static T value(T x) {
    return x <= T(0) ? T(0) : x;  // NaN remains NaN
  }
  template <typename T>
  WEFT_HD static T derivative(T x) {
    return x > T(0) ? T(1) : T(0);
  }
};

template <>
struct ActivationFunction<Activation::gelu> {
  template <typename T>
  WEFT_HD static T value(T x) {
    return x * normal_cdf(x);
  }
  template <typename T>
  WEFT_HD static T derivative(T x) {
    return normal_cdf(x) + x * T(0.39894228040143267794) * exp_of(T(-0.5) * x * x);  // cdf + x pdf
  }
};

// Computes x / (1 + e^-2u), which is x (1 + tanh u) / 2, with u = sqrt(2 / pi) (x + 0.044715 x^3).
template <>
struct ActivationFunction<Activation::gelu_tanh> {
  template <typename T>
  WEFT_HD static T value(T x) {
    const T twice_u = T(1.59576912160573071176) * (x + T(0.044715) * x * x * x);
    return x / (T(1) + exp_of(-twice_u));
  }
  template <typename T>
  WEFT_HD static T derivative(T x) {
    const T square = x * x, twice_u = T(1.59576912160573071176) * (x + T(0.044715) * square * x);
    const T e = exp_of(twice_u < T(0) ? twice_u : -twice_u), p = T(1) / (T(1) + e);
    const T s = twice_u < T(0) ? e * p : p;  // 1 / (1 + e^-2u), whose derivative by 2u is e p^2
    return s + x * e * p * p * T(1.59576912160573071176) * (T(1) + T(0.134145) * square);
  }
};

template <int kPerMille>  // x / (1 + e^-bx) with b = kPerMille / 1000
struct SigmoidUnit {
  template <typename T>
  WEFT_HD static T value(T x) {
    return x * sigmoid(T(kPerMille * 0.001) * x);
  }
  template <typename T>
  WEFT_HD static T derivative(T x) {
    const T u = T(kPerMille * 0.001) * x, s = sigmoid(u);
    return s + u * s * sigmoid(-u);  // sigmoid(-u) is 1 - s without cancellation
  }
};

template <>
struct ActivationFunction<Activation::gelu_sigmoid> : SigmoidUnit<1702> {};

template <>
struct ActivationFunction<Activation::silu> : SigmoidUnit<1000> {};

template <>
struct ActivationFunction<Activation::sigmoid> {
  template <typename T>
  WEFT_HD static T value(T x) {
    return sigmoid(x);
  }
  template <typename T>
  WEFT_HD static T derivative(T x) {
    return sigmoid(x) * sigmoid(-x);
  }
};

// Calls f(ActivationFunction<kind>()), so that loops and kernels are compiled for each kind.
template <typename F>
auto with_activation(Activation kind, F&& f) {
  switch (kind) {
    case Activation::relu:
      return f(ActivationFunction<Activation::relu>());
    case Activation::gelu:
      return f(ActivationFunction<Activation::gelu>());
    case Activation::gelu_tanh:
      return f(ActivationFunction<Activation::gelu_tanh>());
    case Activation::gelu_sigmoid:
      return f(ActivationFunction<Activation::gelu_sigmoid>());
    case Activation::silu:
      return f(ActivationFunction<Activation::silu>());
    case Activation::sigmoid:
      break;
  }
  return f(ActivationFunction<Activation::sigmoid>());
}

}  // namespace weft
