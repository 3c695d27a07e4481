// tensor/cpu/dropout.h: dropout masks in vectors of 32 Philox groups, bit for bit those of random.h.
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

inline constexpr int kPhiloxBatch = 32;  // groups; enough independent chains to hide the multiplications' latency

// 64-bit lanes, and the products of their low halves with b; the compiler does not see that this is one instruction.
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

// out = w01[0], w23[0], w01[1], w23[1], ...: the words of group after group.
template <size_t... kLane>
inline void store_interleaved(const Words& w01, const Words& w23, uint32_t* out, std::index_sequence<kLane...>) {
  const Words first = __builtin_shuffle(w01, w23, Words{(kLane / 2 + kLane % 2 * kWordLanes)...});
  const Words second = __builtin_shuffle(w01, w23, Words{(kLane / 2 + kLane % 2 * kWordLanes + kWordLanes / 2)...});
  std::memcpy(out, &first, sizeof first);
  std::memcpy(out + 2 * kWordLanes, &second, sizeof second);
}

// The four words of each group: bits[i * 4 + lane]. The same rounds as philox(), over vectors; of a 64-bit lane only
// the low half means something until the words are put together.
inline void philox_batch(uint64_t seed, const uint64_t* groups, uint32_t step, uint32_t purpose, uint32_t* bits) {
  constexpr int kVecs = kPhiloxBatch / kWordLanes;
  Words c0[kVecs], c1[kVecs], c2[kVecs], c3[kVecs];
  std::memcpy(c0, groups, sizeof c0);
  for (int v = 0; v < kVecs; ++v) {
    c1[v] = c0[v] >> 32;
    c2[v] = Words{} + step;
    c3[v] = Words{} + purpose;
  }
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
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
    store_interleaved(w01, w23, bits + v * 4 * kWordLanes, std::make_index_sequence<kWordLanes>());
  }
}

// scales[i * 4 + lane]: keep_scale() or 0 of the elements of 32 groups.
inline void dropout_batch(const Dropout& dropout, const uint64_t* groups, float* scales) {
  uint32_t bits[kPhiloxBatch * 4];
  philox_batch(dropout.seed, groups, dropout.step, dropout.purpose, bits);
  const uint32_t threshold = dropout.threshold();
  const float scale = dropout.keep_scale();
  for (int i = 0; i < kPhiloxBatch * 4; ++i) scales[i] = bits[i] >= threshold ? scale : 0.0f;
}

// Walks a row in pieces of a batch: f(begin, end, scales), where scales[0] is column `begin`'s; scales are null, and
// the piece is the row, when there is no dropout.
template <typename F>
void for_each_dropout_piece(const Dropout& dropout, int64_t row, int64_t cols, const F& f) {
  if (dropout.rate <= 0) return f(int64_t{0}, cols, static_cast<const float*>(nullptr));
  constexpr int64_t kPiece = kPhiloxBatch * 4;
  const uint64_t first = dropout.index(row, 0);
  const int64_t lead = static_cast<int64_t>(first & 3);  // lanes of the first group that lie before the row
  for (int64_t begin = -lead; begin < cols; begin += kPiece) {
    uint64_t groups[kPhiloxBatch];
    float scales[kPiece];
    for (int i = 0; i < kPhiloxBatch; ++i)
      groups[i] = (first + static_cast<uint64_t>(begin)) / 4 + static_cast<uint64_t>(i);
    dropout_batch(dropout, groups, scales);
    const int64_t from = std::max<int64_t>(begin, 0);
    f(from, std::min(begin + kPiece, cols), static_cast<const float*>(scales + (from - begin)));
  }
}

// Factors of a block: out[r * ld + c] is that of global index first + r * row_stride + c. Short rows share batches, so
// that attention's small blocks fill the vectors too.
class DropoutBlock {
 public:
  explicit DropoutBlock(const Dropout& dropout) : dropout_(dropout) {}

  void fill(uint64_t first, int64_t rows, int64_t cols, float* out, int64_t ld) {
    for (int64_t r = 0; r < rows; ++r) {
      const uint64_t begin = first + static_cast<uint64_t>(r * dropout_.row_stride);
      const int64_t lead = static_cast<int64_t>(begin & 3);
      for (int64_t col = -lead; col < cols; col += 4) {
        groups_[count_] = (begin + static_cast<uint64_t>(col)) / 4;
        targets_[count_] = {out + r * ld, col, cols};
        if (++count_ == kPhiloxBatch) flush();
      }
    }
    flush();
  }

 private:
  struct Target {  // columns col to col + 3 of a row; those outside [0, cols) are not the row's
    float* row;
    int64_t col, cols;
  };

  void flush() {
    float scales[kPhiloxBatch * 4];
    dropout_batch(dropout_, groups_, scales);
    for (int i = 0; i < count_; ++i) {
      const Target& t = targets_[i];
      const int64_t begin = std::max<int64_t>(t.col, 0), end = std::min(t.col + 4, t.cols);
      if (end - begin == 4) {
        std::memcpy(t.row + begin, scales + i * 4, 4 * sizeof(float));
      } else {
        for (int64_t c = begin; c < end; ++c) t.row[c] = scales[i * 4 + (c - t.col)];
      }
    }
    count_ = 0;
  }

  const Dropout& dropout_;
  int count_ = 0;
  uint64_t groups_[kPhiloxBatch] = {};
  Target targets_[kPhiloxBatch];
};

}  // namespace weft::cpu
