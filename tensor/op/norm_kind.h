// tensor/op/norm_kind.h: defines the norms of a row x, each with its formula, name and source.
//   y = (x - m) rstd gamma + beta,  rstd = 1 / sqrt(mean((x - m)^2) + eps)
//
// To add a norm, add an enumerator, a name, a help text, a NormFormula and a case here. A different formula also needs
// loops and kernels in tensor/cpu/normalization.cpp, tensor/cuda/normalization.cu and normalization_backward.cu.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/enum_names.h"

namespace weft {

enum class NormKind : uint8_t {
  layer,  // layer norm (Ba, Kiros, Hinton 2016; biased variance)
  rms     // RMSNorm (Zhang & Sennrich 2019)
};

constexpr EnumNames<NormKind, 2> enum_names(NormKind) { return {{{"layer", NormKind::layer}, {"rms", NormKind::rms}}}; }
inline constexpr const char* kNormKindHelp =
    "kind of norm: layer = LayerNorm; rms = RMSNorm, which subtracts no mean and has no bias";

struct NormFormula {
  bool centred;   // m = mean(x); otherwise m = 0, and no mean is saved for backward
  bool has_beta;  // otherwise beta = 0
  double eps;     // the usual value
};

constexpr NormFormula formula_of(NormKind kind) {
  switch (kind) {
    case NormKind::layer:
      return {.centred = true, .has_beta = true, .eps = 1e-5};  // eps of PyTorch's nn.LayerNorm
    case NormKind::rms:
      break;
  }
  return {.centred = false, .has_beta = false, .eps = 1e-6};  // eps of T5 and Llama
}

// Calls f(std::integral_constant of kind), so that loops are compiled for each kind.
template <typename F>
auto with_norm(NormKind kind, F&& f) {
  switch (kind) {
    case NormKind::layer:
      return f(std::integral_constant<NormKind, NormKind::layer>());
    case NormKind::rms:
      break;
  }
  return f(std::integral_constant<NormKind, NormKind::rms>());
}

}  // namespace weft
