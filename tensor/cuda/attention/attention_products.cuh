// tensor/cuda/attention/attention_products.cuh: computes the matmuls of attention on tiles in shared memory: bf16 and
// f16 on tensor cores, f32 with fused multiply-adds. Both distribute results over the lanes in the layout of mma.cuh,
// so the softmax between the matmuls needs only one version.
//
// The order of a sum's terms does not depend on the row's place in a tile. Padding rows and columns are 0, so they do
// not change sums.
#pragma once

#include <cstdint>

#include "tensor/cuda/launch.cuh"
#include "tensor/cuda/mma.cuh"
#include "tensor/cuda/vector.cuh"
#include "tensor/half.h"

namespace weft::cuda::attention {

inline constexpr int kTileRows = 16;  // rows that a warp processes
inline constexpr int kChunk = 32;     // rows of the other side that a warp holds at once

// The stride between rows of a tile in shared memory. With 16 bytes of padding, the same columns of 8 rows are in
// different banks.
template <typename T, int kHead>
inline constexpr int kStride = kHead + Packet<T>::kSize;

// Takes values, because std::min takes references, which device code cannot bind to constants.
__device__ inline int smaller(int a, int b) { return a < b ? a : b; }
__device__ inline int lane_id() { return static_cast<int>(threadIdx.x) % kWarp; }

// A lane's elements of [kTileRows, kColumns] in f32: v[group][i] is row row_of(i), column column_of(group, i).
template <int kColumns>
struct Accumulators {
  float v[kColumns / 8][4] = {};
};
__device__ inline int row_of(int i) { return lane_id() / 4 + 8 * (i / 2); }
__device__ inline int column_of(int group, int i) { return 8 * group + 2 * (lane_id() % 4) + i % 2; }

// Stores two neighboring elements. REQUIRES: `to` is aligned to the pair.
template <typename T>
__device__ inline void store_pair(T* to, float first, float second) {
  *reinterpret_cast<uint32_t*>(to) = rounded_pair<T>(first, second);
}
template <>
__device__ inline void store_pair<float>(float* to, float first, float second) {
  *reinterpret_cast<float2*>(to) = make_float2(first, second);
}

// Stores rows to shared memory, `stride` elements apart, if their bits in `rows` are set.
template <int kColumns, typename T>
__device__ inline void store_tile(const Accumulators<kColumns>& c, uint32_t rows, T* to, int stride) {
  for (int i = 0; i < 4; i += 2) {
    if ((rows >> row_of(i) & 1u) == 0) continue;
    for (int group = 0; group < kColumns / 8; ++group)
      store_pair(to + row_of(i) * stride + column_of(group, 0), c.v[group][i], c.v[group][i + 1]);
  }
}

template <typename T>
struct Products {
  // Computes c += a b^T, for tiles a [kTileRows, kHead] and b [kColumns, kHead].
  template <int kHead, int kColumns>
  __device__ static void by_rows(const T* a, const T* b, Accumulators<kColumns>& c) {
    constexpr int kNext = kStride<T, kHead>;
    const int lane = lane_id();
    const T* const a_row = a + lane % 16 * kNext + lane / 16 * 8;
    const T* const b_row = b + (lane / 16 * 8 + lane % 8) * kNext + lane / 8 % 2 * 8;
    for (int k = 0; k < kHead; k += 16) {
      const Matrices rows = load_matrices(a_row + k);
      for (int group = 0; group < kColumns / 8; group += 2) {
        const Matrices columns = load_matrices(b_row + group * 8 * kNext + k);
        mma<T>(c.v[group], rows.v, columns.v[0], columns.v[1]);
        mma<T>(c.v[group + 1], rows.v, columns.v[2], columns.v[3]);
      }
    }
  }

  // Computes c += p b, for p rounded to T and a tile b [kRows, kHead].
  template <int kHead, int kRows>
  __device__ static void by_columns(const Accumulators<kRows>& p, const T* b, Accumulators<kHead>& c) {
    constexpr int kNext = kStride<T, kHead>;
    const int lane = lane_id();
    const T* const b_row = b + lane % 16 * kNext + lane / 16 * 8;
    for (int k = 0; k < kRows / 8; k += 2) {
      const uint32_t rows[4] = {rounded_pair<T>(p.v[k][0], p.v[k][1]), rounded_pair<T>(p.v[k][2], p.v[k][3]),
                                rounded_pair<T>(p.v[k + 1][0], p.v[k + 1][1]),
                                rounded_pair<T>(p.v[k + 1][2], p.v[k + 1][3])};
      for (int group = 0; group < kHead / 8; group += 2) {
        const Matrices columns = load_matrices_transposed(b_row + k * 8 * kNext + group * 8);
        mma<T>(c.v[group], rows, columns.v[0], columns.v[1]);
        mma<T>(c.v[group + 1], rows, columns.v[2], columns.v[3]);
      }
    }
  }

  // Computes c += a^T b, for tiles a [16, kTileRows], with `stride` elements from row to row, and b [16, kHead].
  template <int kHead>
  __device__ static void by_transposed(const T* a, int stride, const T* b, Accumulators<kHead>& c) {
    const int lane = lane_id();
    const Matrices rows = load_matrices_transposed(a + (lane / 16 * 8 + lane % 8) * stride + lane / 8 % 2 * 8);
    const T* const b_row = b + lane % 16 * kStride<T, kHead> + lane / 16 * 8;
    for (int group = 0; group < kHead / 8; group += 2) {
      const Matrices columns = load_matrices_transposed(b_row + group * 8);
      mma<T>(c.v[group], rows.v, columns.v[0], columns.v[1]);
      mma<T>(c.v[group + 1], rows.v, columns.v[2], columns.v[3]);
    }
  }
};

template <>
struct Products<float> {
  template <int kHead, int kColumns>
  __device__ static void by_rows(const float* a, const float* b, Accumulators<kColumns>& c) {
    constexpr int kNext = kStride<float, kHead>;
    const float* const a_row = a + row_of(0) * kNext;
    const float* const b_row = b + column_of(0, 0) * kNext;
    for (int k = 0; k < kHead; k += 4) {
      const float4 rows[2] = {load4(a_row + k), load4(a_row + 8 * kNext + k)};
      for (int group = 0; group < kColumns / 8; ++group) {
        for (int column = 0; column < 2; ++column) {
          const float4 other = load4(b_row + (8 * group + column) * kNext + k);
          for (int row = 0; row < 2; ++row) add_dot(rows[row], other, c.v[group][2 * row + column]);
        }
      }
    }
  }

  template <int kHead, int kRows>
  __device__ static void by_columns(const Accumulators<kRows>& p, const float* b, Accumulators<kHead>& c) {
    const int quad = lane_id() / 4 * 4;  // these four lanes hold two complete rows of p
    const float* const b_row = b + column_of(0, 0);
    for (int source = 0; source < 4; ++source) {
      for (int group = 0; group < kRows / 8; ++group) {
        for (int i = 0; i < 2; ++i) {
          const float first = __shfl_sync(0xFFFFFFFFu, p.v[group][i], quad + source);
          const float second = __shfl_sync(0xFFFFFFFFu, p.v[group][2 + i], quad + source);
          add_products(first, second, b_row + (8 * group + 2 * source + i) * kStride<float, kHead>, c);
        }
      }
    }
  }

  template <int kHead>
  __device__ static void by_transposed(const float* a, int stride, const float* b, Accumulators<kHead>& c) {
    for (int k = 0; k < kTileRows; ++k) {
      const float* const row = a + k * stride;
      add_products(row[row_of(0)], row[row_of(2)], b + column_of(0, 0) + k * kStride<float, kHead>, c);
    }
  }

 private:
  __device__ static float4 load4(const float* from) { return *reinterpret_cast<const float4*>(from); }
  __device__ static void add_dot(const float4& a, const float4& b, float& sum) {
    sum = fmaf(a.x, b.x, sum);
    sum = fmaf(a.y, b.y, sum);
    sum = fmaf(a.z, b.z, sum);
    sum = fmaf(a.w, b.w, sum);
  }
  template <int kHead>
  __device__ static void add_products(float first, float second, const float* row, Accumulators<kHead>& c) {
    for (int group = 0; group < kHead / 8; ++group) {
      const float2 other = *reinterpret_cast<const float2*>(row + 8 * group);
      c.v[group][0] = fmaf(first, other.x, c.v[group][0]);
      c.v[group][1] = fmaf(first, other.y, c.v[group][1]);
      c.v[group][2] = fmaf(second, other.x, c.v[group][2]);
      c.v[group][3] = fmaf(second, other.y, c.v[group][3]);
    }
  }
};

}  // namespace weft::cuda::attention
