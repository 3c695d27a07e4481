// tests/emulation/cublas_lt/cublas_lt_product.h: one product of the emulated cuBLASLt, checked and ready to be
// computed.
#pragma once

#include <cublasLt.h>

#include <cstdint>

namespace weft::emulation {

inline constexpr uint64_t kSeal = 0x7766'744C'7462'6C61;  // of descriptors that were initialised

template <typename Opaque>
bool is_sealed(const Opaque* object) {
  return object != nullptr && object->seal == kSeal;
}

struct ColumnMatrix {  // element (i, j) at i + j * ld
  void* data;
  cudaDataType_t type;
  int64_t rows, cols, ld;
  int64_t bytes() const;  // from the first to the last element
};

// D = epilogue(alpha op(A) op(B) + beta C), by sums of f32 in the order of the inner dimension; where that is cut into
// parts, each part's sum goes to the workspace first.
struct ColumnProduct {
  ColumnMatrix a, b, c, d;  // as they are stored
  bool trans_a, trans_b;
  float alpha, beta;
  uint32_t epilogue;
  void* bias;  // a vector of D's type: added, or the bias gradient that is written
  void* aux;   // ReLU's bits or GELU's inputs
  int64_t aux_ld;
  int parts;
  bool parts_in_any_order;  // as where parts meet in the output
  float* workspace;
};

// Bits of an epilogue's value beside those that have an epilogue of their own.
inline constexpr uint32_t kReluGradient = 8, kBiasGradient = 16, kGeluGradient = 64, kAuxiliary = 128;

int64_t size_of(cudaDataType_t type);
bool has_bits(uint32_t epilogue, uint32_t bits);

// What the product is to read and write must be device memory; throws what is not. Both run with it accessible.
void require_device_memory(const ColumnProduct& product);
void compute(const ColumnProduct& product);

// What an epilogue does besides, to the m x n values before they are rounded to D's type.
void apply_epilogue(const ColumnProduct& product, float* values);
float load(const void* data, cudaDataType_t type, int64_t index);
void store(void* data, cudaDataType_t type, int64_t index, float value);

}  // namespace weft::emulation
