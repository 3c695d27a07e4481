// tests/emulation/cublas_lt/cublas_lt_epilogue.cpp: epilogues of the emulated cuBLASLt: bias, activations,
// their gradients and bias gradients.
//
// GELU is the tanh approximation, like NVIDIA's, with a tanh as inexact as the hardware's: its relative error
// is up to 2^-11 (PTX ISA, tanh.approx).
#include <cmath>

#include "tests/emulation/cublas_lt/cublas_lt_product.h"

namespace weft::emulation {
namespace {

constexpr float kSlope = 0.7978845608f, kCubic = 0.044715f;  // sqrt(2 / pi), and the cubic term's factor

float approximate_tanh(float x) {
  constexpr int kBits = 11;
  int exponent = 0;
  const float fraction = std::frexp(std::tanh(x), &exponent);  // at least 1/2
  return std::ldexp(std::round(std::ldexp(fraction, kBits)), exponent - kBits);
}

float gelu(float x) { return 0.5f * x * (1 + approximate_tanh(kSlope * (x + kCubic * x * x * x))); }

float gelu_gradient(float x) {
  const float t = approximate_tanh(kSlope * (x + kCubic * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * kSlope * (1 + 3 * kCubic * x * x);
}

bool bit(const void* bits, int64_t index) {
  return (static_cast<const uint8_t*>(bits)[index / 8] >> index % 8 & 1) != 0;
}

void set_bit(void* bits, int64_t index, bool value) {
  uint8_t& byte = static_cast<uint8_t*>(bits)[index / 8];
  const auto mask = static_cast<uint8_t>(1u << index % 8);
  byte = static_cast<uint8_t>(value ? byte | mask : byte & ~mask);
}

float apply_to_one(const ColumnProduct& p, float x, int64_t i, int64_t j) {
  const int64_t at = i + j * p.aux_ld;
  if (has_bits(p.epilogue, CUBLASLT_EPILOGUE_BIAS)) x += load(p.bias, p.d.type, i);
  if (has_bits(p.epilogue, CUBLASLT_EPILOGUE_RELU)) {
    if (has_bits(p.epilogue, kAuxiliary)) set_bit(p.aux, at, !(x < 0));  // also of 0 and NaN, as measured on sm_86
    return x > 0 ? x : 0;
  }
  if (has_bits(p.epilogue, CUBLASLT_EPILOGUE_GELU)) {
    if (has_bits(p.epilogue, kAuxiliary)) store(p.aux, p.d.type, at, x);
    return gelu(x);
  }
  if (has_bits(p.epilogue, kReluGradient)) return bit(p.aux, at) ? x : 0;
  if (has_bits(p.epilogue, kGeluGradient)) return x * gelu_gradient(load(p.aux, p.d.type, at));
  return x;
}

// The sums over the inner dimension of op(A)'s rows or op(B)'s columns.
void write_sums(const ColumnProduct& p, const ColumnMatrix& matrix, int64_t length, bool along_columns) {
  const int64_t depth = along_columns ? matrix.cols : matrix.rows;
  for (int64_t i = 0; i < length; ++i) {
    float sum = 0;
    for (int64_t q = 0; q < depth; ++q)
      sum += load(matrix.data, matrix.type, along_columns ? i + q * matrix.ld : q + i * matrix.ld);
    store(p.bias, p.d.type, i, sum);
  }
}

}  // namespace

void apply_epilogue(const ColumnProduct& p, float* values) {
  const int64_t m = p.d.rows, n = p.d.cols;
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) values[i + j * m] = apply_to_one(p, values[i + j * m], i, j);
  if (has_bits(p.epilogue, kBiasGradient)) {
    for (int64_t i = 0; i < m; ++i) {
      float sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += values[i + j * m];
      store(p.bias, p.d.type, i, sum);
    }
  }
  if (has_bits(p.epilogue, CUBLASLT_EPILOGUE_BGRADA)) write_sums(p, p.a, m, !p.trans_a);
  if (has_bits(p.epilogue, CUBLASLT_EPILOGUE_BGRADB)) write_sums(p, p.b, n, p.trans_b);
}

}  // namespace weft::emulation
