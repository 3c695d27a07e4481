// tensor/cpu/gemm/small_gemm.h: computes matmuls of small matrices for attention, without setup cost.
//
// Vectors run along the columns of b and c. Elements of `a` are broadcast, so a transposed `a` need not be copied. An
// element of c is summed over the inner dimension in order, and unless kFused, its bits are the same on all processors.
#pragma once

#if defined(__FMA__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tensor/half.h"

namespace weft::cpu {

// Vectors are as wide as possible. Blocks of kBlockRows rows and two vectors leave registers for the operands.
#if defined(__AVX512F__)
inline constexpr int64_t kLanes = 16, kBlockRows = 8;
#elif defined(__AVX__)
inline constexpr int64_t kLanes = 8, kBlockRows = 4;
#else
inline constexpr int64_t kLanes = 4, kBlockRows = 4;
#endif
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float))));
typedef float UnalignedVec __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

typedef uint16_t Halves __attribute__((vector_size(kLanes * sizeof(uint16_t)), aligned(2), may_alias));
typedef uint32_t Words32 __attribute__((vector_size(kLanes * sizeof(uint32_t))));

// Sums of a row have this many partial sums on every processor, which are added in pairs at the end, so that their bits
// do not depend on kLanes. Column c counts to partial sum c % kPartialSums.
inline constexpr int64_t kPartialSums = 16, kPartialVecs = kPartialSums / kLanes;

constexpr int64_t round_up_to_lanes(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Loads the first `count` lanes; the others are 0. A full vector, the usual case, is one instruction.
inline Vec load(const float* from, int64_t count = kLanes) {
  if (count == kLanes) return *reinterpret_cast<const UnalignedVec*>(from);
  Vec v = {};
  std::memcpy(&v, from, static_cast<size_t>(count) * sizeof(float));
  return v;
}
template <typename T>  // bf16 or f16, widened
inline Vec load(const T* from, int64_t count = kLanes) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (count == kLanes) {
      const Halves halves = *reinterpret_cast<const Halves*>(from);
      return reinterpret_cast<Vec>(__builtin_convertvector(halves, Words32) << 16);
    }
  }
  float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = to_float(from[i]);
  return load(lanes);
}
inline void store(const Vec& v, float* to, int64_t count = kLanes) {
  if (count == kLanes) {
    *reinterpret_cast<UnalignedVec*>(to) = v;
  } else {
    std::memcpy(to, &v, static_cast<size_t>(count) * sizeof(float));
  }
}

struct PartialSums {
  Vec vecs[kPartialVecs] = {};
  Vec pairs() const {  // kLanes sums, of which lane i and lane i + kLanes / 2 are to be added next
    Vec v[kPartialVecs];
    for (int64_t i = 0; i < kPartialVecs; ++i) v[i] = vecs[i];
    for (int64_t distance = kPartialVecs / 2; distance > 0; distance /= 2)
      for (int64_t i = 0; i < distance; ++i) v[i] += v[i + distance];
    return v[0];
  }
  float sum() const {
    float lanes[kLanes];
    store(pairs(), lanes);
    for (int64_t distance = kLanes / 2; distance > 0; distance /= 2)
      for (int64_t i = 0; i < distance; ++i) lanes[i] += lanes[i + distance];
    return lanes[0];
  }
};

// Returns the partial sums of a * b.
template <typename T>
inline PartialSums products_of(const T* a, const T* b, int64_t count) {
  PartialSums sums;
  int64_t c = 0;
  for (; c + kPartialSums <= count; c += kPartialSums)
    for (int64_t v = 0; v < kPartialVecs; ++v) sums.vecs[v] += load(a + c + v * kLanes) * load(b + c + v * kLanes);
  for (int64_t v = 0; c < count; ++v, c += kLanes)
    sums.vecs[v] += load(a + c, std::min(kLanes, count - c)) * load(b + c, std::min(kLanes, count - c));
  return sums;
}

// Returns sum + a * b, rounded once if kFused and the processor can, else twice.
template <bool kFused>
inline Vec add_product(Vec sum, float a, Vec b) {
#if defined(__AVX512F__)
  if constexpr (kFused) return _mm512_fmadd_ps(_mm512_set1_ps(a), b, sum);
#elif defined(__FMA__)
  if constexpr (kFused) return _mm256_fmadd_ps(_mm256_set1_ps(a), b, sum);
#endif
  return sum + a * b;
}

template <bool kTransposed>
struct SmallA {  // [m, k], or [k, m] in memory; two types, because loops compiled for each are faster
  const float* data;
  int64_t ld;
  const float& operator()(int64_t i, int64_t j) const { return kTransposed ? data[j * ld + i] : data[i * ld + j]; }
};

struct SmallB {  // rows are readable up to a multiple of kLanes columns
  const float* data;
  int64_t ld;
};

struct SmallC {  // destination of a product; if `accumulate`, the product is added
  float* data;
  int64_t ld;
  bool accumulate = false;
};

// Computes one block of kRows rows and kVecs vectors of c. The last vector is `tail` columns wide in c.
template <int kRows, int kVecs, bool kFused, bool kTransposed>
inline void small_gemm_block(int64_t k, SmallA<kTransposed> a, SmallB b, SmallC c, int64_t tail) {
  Vec sums[kRows][kVecs] = {};
  for (int64_t j = 0; j < k; ++j) {
    Vec row[kVecs];
    for (int v = 0; v < kVecs; ++v) row[v] = load(b.data + j * b.ld + v * kLanes);
    for (int i = 0; i < kRows; ++i) {
      const float factor = a(i, j);
      for (int v = 0; v < kVecs; ++v) sums[i][v] = add_product<kFused>(sums[i][v], factor, row[v]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVecs; ++v) {
      float* target = c.data + i * c.ld + v * kLanes;
      const int64_t count = v + 1 < kVecs ? kLanes : tail;
      if (c.accumulate) sums[i][v] += load(target, count);
      store(sums[i][v], target, count);
    }
  }
}

template <int kVecs, bool kTransposed>
inline void small_gemm_rows(int64_t rows, int64_t k, SmallA<kTransposed> a, SmallB b, SmallC c, int64_t tail) {
  switch (rows) {
    case 8:
      return small_gemm_block<8, kVecs, false>(k, a, b, c, tail);
    case 7:
      return small_gemm_block<7, kVecs, false>(k, a, b, c, tail);
    case 6:
      return small_gemm_block<6, kVecs, false>(k, a, b, c, tail);
    case 5:
      return small_gemm_block<5, kVecs, false>(k, a, b, c, tail);
    case 4:
      return small_gemm_block<4, kVecs, false>(k, a, b, c, tail);
    case 3:
      return small_gemm_block<3, kVecs, false>(k, a, b, c, tail);
    case 2:
      return small_gemm_block<2, kVecs, false>(k, a, b, c, tail);
    default:
      return small_gemm_block<1, kVecs, false>(k, a, b, c, tail);
  }
}

// Computes c[m, n] = a[m, k] b[k, n], or adds to c.
template <bool kTransposed>
inline void small_gemm(int64_t m, int64_t n, int64_t k, SmallA<kTransposed> a, SmallB b, SmallC c) {
  for (int64_t col = 0; col < n; col += 2 * kLanes) {
    const int64_t width = std::min(n - col, 2 * kLanes);
    const SmallB b_cols{b.data + col, b.ld};
    for (int64_t i = 0; i < m; i += kBlockRows) {
      const int64_t rows = std::min(m - i, kBlockRows);
      const SmallA<kTransposed> a_rows{&a(i, 0), a.ld};
      const SmallC target{c.data + i * c.ld + col, c.ld, c.accumulate};
      if (width > kLanes) {
        small_gemm_rows<2>(rows, k, a_rows, b_cols, target, width - kLanes);
      } else {
        small_gemm_rows<1>(rows, k, a_rows, b_cols, target, width);
      }
    }
  }
}

// Returns in[rows, cols] itself if it is f32 and its columns fill vectors. Otherwise returns a copy in `space`, with
// columns of 0 up to full vectors.
template <typename T>
inline SmallB padded(const T* in, int64_t in_row, int64_t rows, int64_t cols, float* space) {
  if constexpr (std::is_same_v<T, float>) {
    if (cols % kLanes == 0) return {in, in_row};
  }
  const int64_t ld = round_up_to_lanes(cols);
  for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) space[r * ld + c] = to_float(in[r * in_row + c]);
    std::fill(space + r * ld + cols, space + (r + 1) * ld, 0.0f);
  }
  return {space, ld};
}

// Runs one stage of the transposition of a square block of kLanes rows. For each pair of rows i and i + kDistance, it
// swaps the halves that are off the diagonal.
template <int kDistance, size_t... kLane>
inline void transpose_stage(Vec* rows, std::index_sequence<kLane...>) {
  typedef int32_t Mask __attribute__((vector_size(kLanes * sizeof(int32_t))));
  constexpr Mask kUpper{(kLane & kDistance ? kLanes + (kLane ^ kDistance) : kLane)...};
  constexpr Mask kLower{(kLane & kDistance ? kLanes + kLane : kLane ^ kDistance)...};
  for (int i = 0; i < kLanes; ++i) {
    if (i & kDistance) continue;
    const Vec a = rows[i], b = rows[i + kDistance];
    rows[i] = __builtin_shuffle(a, b, kUpper);
    rows[i + kDistance] = __builtin_shuffle(a, b, kLower);
  }
}

template <int kDistance = kLanes / 2>
inline void transpose_block(Vec* rows) {
  transpose_stage<kDistance>(rows, std::make_index_sequence<kLanes>());
  if constexpr (kDistance > 1) transpose_block<kDistance / 2>(rows);
}

// Sets out[cols, ld] to the transpose of in[rows, cols], and its other columns up to ld to 0.
template <typename T>
void pack_transposed(const T* in, int64_t in_row, int64_t rows, int64_t cols, float* out, int64_t ld) {
  for (int64_t r = 0; r < rows; r += kLanes) {
    const int64_t height = std::min(kLanes, rows - r);
    for (int64_t c = 0; c < cols; c += kLanes) {
      const int64_t width = std::min(kLanes, cols - c);
      Vec block[kLanes] = {};
      for (int64_t i = 0; i < height; ++i) {
        block[i] = load(in + (r + i) * in_row + c, width);
      }
      transpose_block(block);
      for (int64_t i = 0; i < width; ++i) store(block[i], out + (c + i) * ld + r);
    }
  }
}

}  // namespace weft::cpu
