// tensor/cpu/dropout.h: computes the dropout masks of random.h, in batches of 32 Philox groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "tensor/random.h"

namespace weft::cpu {

inline constexpr int kPhiloxBatch = 32;  // groups: enough independent chains to hide the multiplications' latency

// Multiplies the low halves of 64-bit lanes by b. Uses intrinsics, because compilers do not find the instruction.
#if defined(__AVX512F__)
typedef uint64_t Words __attribute__((vector_size(64)));
inline Words multiply_low_halves(Words a, uint32_t b) {
  return reinterpret_cast<Words>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(b)));
}
#elif defined(__AVX2__)
typedef uint64_t Words __attribute__((vector_size(32)));
inline Words multiply_low_halves(Words a, uint32_t b) {
  return reinterpret_cast<Words>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(b)));
}
#else
typedef uint64_t Words __attribute__((vector_size(16)));
inline Words multiply_low_halves(Words a, uint32_t b) { return (a & 0xFFFFFFFFu) * b; }
#endif
inline constexpr int kWordLanes = sizeof(Words) / sizeof(uint64_t);

// Sets `out` to w01[0], w23[0], w01[1], w23[1], ..., that is, to the 16-bit halves of each group, low half first.
template <size_t... kLane>
inline void store_interleaved(const Words& w01, const Words& w23, uint16_t* out, std::index_sequence<kLane...>) {
  const Words first = __builtin_shuffle(w01, w23, Words{(kLane / 2 + kLane % 2 * kWordLanes)...});
  const Words second = __builtin_shuffle(w01, w23, Words{(kLane / 2 + kLane % 2 * kWordLanes + kWordLanes / 2)...});
  std::memcpy(out, &first, sizeof first);
  std::memcpy(out + 4 * kWordLanes, &second, sizeof second);
}

// Computes the bits of each element of group i: bits[i * DropoutMask::kGroup + lane]. `groups` is aligned for Words,
// which avoids a copy through memory. The rounds equal philox()'s, over vectors. Only the low half of each 64-bit lane
// is valid until the end. The function is never inlined, because each use would compile the unrolled rounds again.
[[gnu::noinline]] inline void philox_batch(const DropoutMask& dropout, const uint64_t* groups, uint16_t* bits) {
  constexpr int kVecs = kPhiloxBatch / kWordLanes;
  Words c0[kVecs], c1[kVecs], c2[kVecs], c3[kVecs];
  for (int v = 0; v < kVecs; ++v) {
    c0[v] = reinterpret_cast<const Words*>(groups)[v];
    c1[v] = c0[v] >> 32;
    c2[v] = Words{} + dropout.step;
    c3[v] = Words{} + dropout.purpose;
  }
  uint32_t k0 = static_cast<uint32_t>(dropout.seed), k1 = static_cast<uint32_t>(dropout.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int v = 0; v < kVecs; ++v) {
      const Words p0 = multiply_low_halves(c0[v], 0xD2511F53u), p1 = multiply_low_halves(c2[v], 0xCD9E8D57u);
      c0[v] = (p1 >> 32) ^ c1[v] ^ k0;
      c2[v] = (p0 >> 32) ^ c3[v] ^ k1;
      c1[v] = p1;
      c3[v] = p0;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int v = 0; v < kVecs; ++v) {
    const Words w01 = (c0[v] & 0xFFFFFFFFu) | (c1[v] << 32), w23 = (c2[v] & 0xFFFFFFFFu) | (c3[v] << 32);
    store_interleaved(w01, w23, bits + v * DropoutMask::kGroup * kWordLanes, std::make_index_sequence<kWordLanes>());
  }
}

// Sets scales[i] to keep_scale(), or to 0 if element i is dropped.
inline void scales_of(const DropoutMask& dropout, const uint16_t* bits, int64_t count, float* scales) {
  const auto threshold = static_cast<uint16_t>(dropout.threshold());
  const float scale = dropout.keep_scale();
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) scales[i] = bits[i] >= threshold ? scale : 0.0f;
}

// Splits a row into chunks of a batch, and calls f(begin, end, scales) for each; scales[0] belongs to column `begin`.
// Without dropout, f is called once for the row, and scales is null.
template <typename F>
void for_each_dropout_piece(const DropoutMask& dropout, int64_t row, int64_t cols, const F& f) {
  if (dropout.rate <= 0) return f(int64_t{0}, cols, static_cast<const float*>(nullptr));
  constexpr int64_t kPiece = kPhiloxBatch * DropoutMask::kGroup;
  const uint64_t first = dropout.index(row, 0);
  const auto lead = static_cast<int64_t>(first % DropoutMask::kGroup);  // lanes of the first group before the row
  for (int64_t begin = -lead; begin < cols; begin += kPiece) {
    alignas(Words) uint64_t groups[kPhiloxBatch];
    uint16_t bits[kPiece];
    float scales[kPiece];
    for (int i = 0; i < kPhiloxBatch; ++i)
      groups[i] = (first + static_cast<uint64_t>(begin)) / DropoutMask::kGroup + static_cast<uint64_t>(i);
    philox_batch(dropout, groups, bits);
    scales_of(dropout, bits, kPiece, scales);
    const int64_t from = std::max<int64_t>(begin, 0);
    f(from, std::min(begin + kPiece, cols), static_cast<const float*>(scales + (from - begin)));
  }
}

// Computes the factors of a block: out[r * ld + c] belongs to global index first + r * row_stride + c. Short rows share
// batches, so that attention's small blocks also fill the vectors.
class DropoutBlock {
 public:
  explicit DropoutBlock(const DropoutMask& dropout) : dropout_(dropout) {}

  void fill(uint64_t first, int64_t rows, int64_t cols, float* out, int64_t ld) {
    for (int64_t col = 0; col < cols; col += kColumns) {
      const int64_t width = std::min(kColumns, cols - col), rows_at_once = kGroups / groups_of(width);
      for (int64_t row = 0; row < rows; row += rows_at_once) {
        fill_part(first + static_cast<uint64_t>(row * dropout_.row_stride + col), std::min(rows_at_once, rows - row),
                  width, out + row * ld + col, ld);
      }
    }
  }

 private:
  static constexpr int64_t kGroups = 8 * kPhiloxBatch, kColumns = 512;  // max groups and columns at once
  // Returns an upper bound of the groups that `cols` columns touch, wherever the first column is.
  static constexpr int64_t groups_of(int64_t cols) {
    return (cols + 2 * (DropoutMask::kGroup - 1)) / DropoutMask::kGroup;
  }

  void fill_part(uint64_t first, int64_t rows, int64_t cols, float* out, int64_t ld) {
    const int64_t per_row = groups_of(cols);
    const auto begin = [&](int64_t r) { return first + static_cast<uint64_t>(r * dropout_.row_stride); };
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < per_row; ++i)
        groups_[r * per_row + i] = begin(r) / DropoutMask::kGroup + static_cast<uint64_t>(i);
    }
    for (int64_t i = 0; i < rows * per_row; i += kPhiloxBatch)
      philox_batch(dropout_, groups_ + i, bits_ + i * DropoutMask::kGroup);
    for (int64_t r = 0; r < rows; ++r) {
      const uint16_t* bits = bits_ + r * per_row * DropoutMask::kGroup + begin(r) % DropoutMask::kGroup;
      scales_of(dropout_, bits, cols, out + r * ld);
    }
  }

  const DropoutMask& dropout_;
  alignas(Words) uint64_t groups_[kGroups] = {};
  uint16_t bits_[kGroups * DropoutMask::kGroup];
};

}  // namespace weft::cpu
