// tests/emulation/cublas_lt/cublas_lt_product.h: a checked GEMM of the emulated cuBLASLt, ready to be
// computed.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <string>

namespace weft::emulation {

inline constexpr uint64_t kSeal = 0x7766'744C'7462'6C61;  // marks initialised descriptors

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

// D = epilogue(alpha op(A) op(B) + beta C), with f32 sums in the order of the inner dimension. If that is
// split, each part's sum goes to the workspace first.
struct ColumnProduct {
  ColumnMatrix a, b, c, d;  // as they are stored
  bool trans_a, trans_b;
  float alpha, beta;
  uint32_t epilogue;
  void* bias;  // a vector of D's type: added, or the bias gradient that is written
  void* aux;   // ReLU's bits or GELU's inputs
  int64_t aux_ld;
  int parts;
  bool parts_in_any_order;  // like split-K that accumulates in the output
  float* workspace;
};

// Flags in an epilogue's value that are no epilogue by themselves.
inline constexpr uint32_t kReluGradient = 8, kBiasGradient = 16, kGeluGradient = 64, kAuxiliary = 128;

int64_t size_of(cudaDataType_t type);
bool has_bits(uint32_t epilogue, uint32_t bits);

// "cublasLtMatmul TN bf16 -> f32, beta 1, BGRADA": for a census of calls.
std::string name_of(const ColumnProduct& product);

// Throws if an operand is not in device memory. Both functions run with device memory accessible.
void require_device_memory(const ColumnProduct& product);
void compute(const ColumnProduct& product);

// Applies the epilogue to the m x n values before they are rounded to D's type.
void apply_epilogue(const ColumnProduct& product, float* values);
float load(const void* data, cudaDataType_t type, int64_t index);
void store(void* data, cudaDataType_t type, int64_t index, float value);

}  // namespace weft::emulation
