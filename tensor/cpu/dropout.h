// tensor/cpu/dropout.h: dropout masks in vectors of 16 Philox groups, bit for bit those of random.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tensor/random.h"

namespace weft::cpu {

inline constexpr int kPhiloxBatch = 16;

// The four words of 16 groups: bits[i * 4 + lane]. The same rounds as philox(), over arrays.
inline void philox_batch(uint64_t seed, const uint64_t* groups, uint32_t step, uint32_t purpose, uint32_t* bits) {
  constexpr uint64_t kMul0 = 0xD2511F53u, kMul1 = 0xCD9E8D57u;
  constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  uint64_t c0[kPhiloxBatch], c1[kPhiloxBatch], c2[kPhiloxBatch], c3[kPhiloxBatch];  // 32 bits each, widened
  for (int i = 0; i < kPhiloxBatch; ++i) {
    c0[i] = groups[i] & 0xFFFFFFFFu;
    c1[i] = groups[i] >> 32;
    c2[i] = step;
    c3[i] = purpose;
  }
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int i = 0; i < kPhiloxBatch; ++i) {
      const uint64_t p0 = kMul0 * (c0[i] & 0xFFFFFFFFu), p1 = kMul1 * (c2[i] & 0xFFFFFFFFu);
      c0[i] = (p1 >> 32) ^ c1[i] ^ k0;
      c2[i] = (p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = p1 & 0xFFFFFFFFu;
      c3[i] = p0 & 0xFFFFFFFFu;
    }
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  for (int i = 0; i < kPhiloxBatch; ++i) {
    bits[i * 4 + 0] = static_cast<uint32_t>(c0[i]);
    bits[i * 4 + 1] = static_cast<uint32_t>(c1[i]);
    bits[i * 4 + 2] = static_cast<uint32_t>(c2[i]);
    bits[i * 4 + 3] = static_cast<uint32_t>(c3[i]);
  }
}

// Factors of a block: out[r * ld + c] is keep_scale() or 0 for the element of global index
// first + r * row_stride + c. Short rows share batches, so that attention's small blocks fill the vectors too.
class DropoutScales {
 public:
  explicit DropoutScales(const Dropout& dropout)
      : dropout_(dropout), scale_(dropout.keep_scale()), threshold_(dropout.threshold()) {}

  void fill(uint64_t first, int64_t row_stride, int64_t rows, int64_t cols, float* out, int64_t ld) {
    for (int64_t r = 0; r < rows; ++r) {
      const uint64_t begin = first + static_cast<uint64_t>(r * row_stride);
      const int64_t lead = static_cast<int64_t>(begin & 3);  // lanes of the first group that lie before the row
      const int64_t num_groups = (lead + cols + 3) / 4;
      for (int64_t g = 0; g < num_groups; ++g) add(begin / 4 + static_cast<uint64_t>(g), out + r * ld, g * 4 - lead, cols);
    }
    flush();
  }

 private:
  void add(uint64_t group, float* row, int64_t col, int64_t cols) {
    groups_[count_] = group;
    targets_[count_] = {row, col, cols};
    if (++count_ == kPhiloxBatch) flush();
  }

  void flush() {
    for (int i = count_; i < kPhiloxBatch; ++i) groups_[i] = 0;
    uint32_t bits[kPhiloxBatch * 4];
    float scales[kPhiloxBatch * 4];
    philox_batch(dropout_.seed, groups_, dropout_.step, dropout_.purpose, bits);
    for (int i = 0; i < kPhiloxBatch * 4; ++i) scales[i] = bits[i] >= threshold_ ? scale_ : 0.0f;
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

  struct Target {  // columns col to col + 3 of a row; those outside [0, cols) are not the row's
    float* row;
    int64_t col, cols;
  };
  const Dropout& dropout_;
  const float scale_;
  const uint32_t threshold_;
  int count_ = 0;
  uint64_t groups_[kPhiloxBatch];
  Target targets_[kPhiloxBatch];
};

// Walks a row in pieces that fit the first-level cache: f(begin, end, scales), scales[0] being column `begin`'s, or
// null when there is no dropout.
template <typename F>
void for_each_dropout_piece(const Dropout& dropout, int64_t row, int64_t cols, const F& f) {
  if (dropout.rate <= 0) return f(int64_t{0}, cols, static_cast<const float*>(nullptr));
  constexpr int64_t kPiece = 256;
  float scales[kPiece];
  DropoutScales source(dropout);
  for (int64_t begin = 0; begin < cols; begin += kPiece) {
    const int64_t count = std::min(kPiece, cols - begin);
    source.fill(dropout.index(row, begin), 0, 1, count, scales, 0);
    f(begin, begin + count, static_cast<const float*>(scales));
  }
}

}  // namespace weft::cpu
