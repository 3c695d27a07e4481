// tensor/cuda/mma.cuh: multiplies bf16 or f16 tiles on tensor cores, with f32 sums, and loads tiles from shared memory
// in the layout that this requires. It wraps three PTX instructions (sm_80 and newer). The emulated device has a file
// with the same name and interface.
//
// REQUIRES: all lanes of a warp make each call together. A word holds two elements, the first in its low half. With
// g = lane / 4 and t = lane % 4, the lane holds
//   of a [16, 16]  a[0]: row g, columns 2t and 2t + 1; a[1]: row g + 8; a[2], a[3]: 8 columns further
//   of b [16, 8]   b0: column g, rows 2t and 2t + 1; b1: rows 2t + 8 and 2t + 9
//   of c [16, 8]   c[0], c[1]: row g, columns 2t and 2t + 1; c[2], c[3]: row g + 8
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tensor/half.h"

namespace weft::cuda {

// Computes c += a b, for T = BFloat16 or Float16.
template <typename T>
__device__ void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);

template <>
__device__ inline void mma<BFloat16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void mma<Float16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four matrices of 8 x 8 elements of 16 bits.
struct Matrices {
  uint32_t v[4];
};

// Loads four matrices from shared memory. Lane 8 i + r passes the address of row r of matrix i, a multiple of 16 bytes.
// v[i] becomes elements 2t and 2t + 1 of row g of matrix i.
__device__ inline Matrices load_matrices(const void* row) {
  Matrices m;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m.v[0]), "=r"(m.v[1]), "=r"(m.v[2]), "=r"(m.v[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
  return m;
}

// Like load_matrices, but transposed: v[i] becomes rows 2t and 2t + 1 of column g of matrix i.
__device__ inline Matrices load_matrices_transposed(const void* row) {
  Matrices m;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m.v[0]), "=r"(m.v[1]), "=r"(m.v[2]), "=r"(m.v[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
  return m;
}

}  // namespace weft::cuda
