// tensor/cpu/small_gemm.h: products of matrices that fit the nearest caches, without set-up cost; for attention.
//
// Vectors run along the columns of b and c. An element of `a` is broadcast, so a transposed `a` costs nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weft::cpu {

inline constexpr int64_t kLanes = 16;
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float))));

constexpr int64_t round_up_to_lanes(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

struct SmallA {  // element (i, j) at data[i * row + j * col]
  const float* data;
  int64_t row, col;
};

// One block of kRows rows and kVecs vectors of c, the last vector `tail` columns wide in c.
template <int kRows, int kVecs>
inline void small_gemm_block(int64_t k, SmallA a, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t tail,
                             bool accumulate) {
  Vec sums[kRows][kVecs] = {};
  for (int64_t j = 0; j < k; ++j) {
    Vec row[kVecs];
    std::memcpy(row, b + j * ldb, sizeof row);
    for (int i = 0; i < kRows; ++i) {
      const float factor = a.data[i * a.row + j * a.col];
      for (int v = 0; v < kVecs; ++v) sums[i][v] += factor * row[v];
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVecs; ++v) {
      const size_t bytes = static_cast<size_t>(v + 1 < kVecs ? kLanes : tail) * sizeof(float);
      float* target = c + i * ldc + v * kLanes;
      if (accumulate) {
        Vec old = {};
        std::memcpy(&old, target, bytes);
        sums[i][v] += old;
      }
      std::memcpy(target, &sums[i][v], bytes);
    }
  }
}

// c[m, n] = a[m, k] b[k, n], or += if `accumulate`. Rows of b are readable up to a multiple of kLanes columns.
inline void small_gemm(int64_t m, int64_t n, int64_t k, SmallA a, const float* b, int64_t ldb, float* c, int64_t ldc,
                       bool accumulate = false) {
  for (int64_t col = 0; col < n; col += 2 * kLanes) {
    const int64_t width = std::min(n - col, 2 * kLanes);
    const int64_t tail = width > kLanes ? width - kLanes : width;
    for (int64_t i = 0; i < m;) {
      const SmallA rows{a.data + i * a.row, a.row, a.col};
      float* target = c + i * ldc + col;
      const auto block = [&]<int kRows>() {
        if (width > kLanes) {
          small_gemm_block<kRows, 2>(k, rows, b + col, ldb, target, ldc, tail, accumulate);
        } else {
          small_gemm_block<kRows, 1>(k, rows, b + col, ldb, target, ldc, tail, accumulate);
        }
        i += kRows;
      };
      const int64_t left = m - i;
      if (left >= 8) {
        block.template operator()<8>();
      } else if (left >= 4) {
        block.template operator()<4>();
      } else if (left >= 2) {
        block.template operator()<2>();
      } else {
        block.template operator()<1>();
      }
    }
  }
}

// out[rows, ld] = in[rows, cols], the columns up to ld being 0.
inline void pack(const float* in, int64_t in_row, int64_t rows, int64_t cols, float* out, int64_t ld) {
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(in + r * in_row, cols, out + r * ld);
    std::fill(out + r * ld + cols, out + (r + 1) * ld, 0.0f);
  }
}

// Transposes a 16 x 16 block: at each stage, the halves of row i and row i + distance that lie across the diagonal of
// their square change places.
template <int kDistance, size_t... kLane>
inline void transpose_stage(Vec* rows, std::index_sequence<kLane...>) {
  typedef int32_t Mask __attribute__((vector_size(kLanes * sizeof(int32_t))));
  constexpr Mask kUpper{(kLane & kDistance ? 16 + (kLane ^ kDistance) : kLane)...};
  constexpr Mask kLower{(kLane & kDistance ? 16 + kLane : kLane ^ kDistance)...};
  for (int i = 0; i < kLanes; ++i) {
    if (i & kDistance) continue;
    const Vec a = rows[i], b = rows[i + kDistance];
    rows[i] = __builtin_shuffle(a, b, kUpper);
    rows[i + kDistance] = __builtin_shuffle(a, b, kLower);
  }
}

inline void transpose_block(Vec* rows) {
  constexpr auto kLane = std::make_index_sequence<kLanes>();
  transpose_stage<8>(rows, kLane);
  transpose_stage<4>(rows, kLane);
  transpose_stage<2>(rows, kLane);
  transpose_stage<1>(rows, kLane);
}

// out[cols, ld] = the transpose of in[rows, cols], the columns up to ld being 0.
inline void pack_transposed(const float* in, int64_t in_row, int64_t rows, int64_t cols, float* out, int64_t ld) {
  for (int64_t r = 0; r < rows; r += kLanes) {
    const int64_t height = std::min(kLanes, rows - r);
    for (int64_t c = 0; c < cols; c += kLanes) {
      const int64_t width = std::min(kLanes, cols - c);
      Vec block[kLanes] = {};
      for (int64_t i = 0; i < height; ++i) {
        std::memcpy(&block[i], in + (r + i) * in_row + c, static_cast<size_t>(width) * sizeof(float));
      }
      transpose_block(block);
      for (int64_t i = 0; i < width; ++i) std::memcpy(out + (c + i) * ld + r, &block[i], sizeof(Vec));
    }
  }
}

}  // namespace weft::cpu
