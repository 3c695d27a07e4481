// tensor/random.h: counter-based random numbers, Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3", SC 2011). A number depends only on seed, step, purpose and global element index, not on device or grid.
//
// The key is the seed. The counter is {group low, group high, step, purpose}. The 32-bit number of an index
// (random_bits) is word index % 4 of group index / 4. Dropout takes 16 bits per element, so eight elements share a
// group.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/op/step_scalars.h"

namespace weft {

struct PhiloxBits {
  uint32_t v[4];
};

WEFT_HD inline PhiloxBits philox(uint64_t seed, uint64_t group, uint32_t step, uint32_t purpose) {
  constexpr uint32_t kMul0 = 0xD2511F53u, kMul1 = 0xCD9E8D57u, kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  uint32_t c0 = static_cast<uint32_t>(group), c1 = static_cast<uint32_t>(group >> 32), c2 = step, c3 = purpose;
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kMul0) * c0, p1 = static_cast<uint64_t>(kMul1) * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

// Identifies what a number is used for: hashes a stable name such as "encoder.0.feed_forward.dropout" (32-bit FNV-1a).
constexpr uint32_t purpose_of(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

WEFT_HD inline uint32_t random_bits(uint64_t seed, uint64_t index, uint32_t step, uint32_t purpose) {
  return philox(seed, index >> 2, step, purpose).v[index & 3];
}

// Returns a number in (0, 1]. It is never 0, so its logarithm is finite.
WEFT_HD inline float uniform_from_bits(uint32_t bits) { return (static_cast<float>(bits >> 8) + 1.0f) * 0x1p-24f; }

// Returns the 16-bit threshold of a dropout rate. An element is dropped if its bits are below the threshold. The
// effective rate, threshold / 65536, is less than 1 and as near as possible to `rate`. Kept elements are scaled by 1 /
// (1 - effective rate), so that the expectation does not change.
WEFT_HD inline uint32_t dropout_threshold(float rate) {
  const uint32_t nearest = static_cast<uint32_t>(rate * 65536.0f + 0.5f);
  return nearest < 65535u ? nearest : 65535u;
}
WEFT_HD inline float dropout_keep_scale(float rate) {
  return 65536.0f / static_cast<float>(65536u - dropout_threshold(rate));
}

// Determines which elements are dropped, from their indices in the *unsharded* tensor, so that masks are the same on
// every grid. Element (row, col) of the local tensor has global index first + row * row_stride + col. Its 16 bits are
// lane index % 8 of group index / 8. Lane i is half i % 2 of word i / 2, where half 0 is the low half.
struct DropoutMask {
  static constexpr int kGroup = 8;  // elements per Philox group

  float rate = 0;  // 0: nothing is dropped
  uint64_t seed = 0;
  uint32_t step = 0, purpose = 0;
  uint64_t first = 0;
  int64_t row_stride = 0;

  WEFT_HD uint32_t threshold() const { return dropout_threshold(rate); }
  WEFT_HD float keep_scale() const { return dropout_keep_scale(rate); }
  WEFT_HD uint64_t index(int64_t row, int64_t col) const {
    return first + static_cast<uint64_t>(row * row_stride + col);
  }
  WEFT_HD bool drops_row(int64_t row) const { return rate > 0 && !keeps(index(row, 0)); }  // of a [R, 1] tensor
  WEFT_HD bool keeps(uint64_t index) const {
    const uint32_t lane = static_cast<uint32_t>(index % kGroup);
    const uint32_t word = philox(seed, index / kGroup, step, purpose).v[lane / 2];
    return (word >> (16 * (lane % 2)) & 0xFFFFu) >= threshold();
  }
};

// Describes the dropout of an op. When the op runs, it reads the step and the block, on which the mask also depends.
struct Dropout {
  float rate = 0;  // 0: off, and the other members are not read
  uint64_t seed = 0;
  uint32_t purpose = 0;
  uint64_t first = 0;        // global index of the local tensor's first element, in block 0
  int64_t row_stride = 0;    // elements per row of the unsharded tensor
  int64_t block_stride = 0;  // elements of the unsharded tensor per block
  const StepScalars* scalars = nullptr;

  WEFT_HD DropoutMask mask() const {
    if (rate <= 0) return {};
    return {rate,      seed, scalars->step, purpose, first + static_cast<uint64_t>(scalars->block * block_stride),
            row_stride};
  }
};

}  // namespace weft
