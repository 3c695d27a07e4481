// tensor/cuda/attention/attention_dropout.cuh: computes the dropout mask of a warp's tile. Two lanes compute the bits
// of a query's keys, and all lanes exchange these bits.
#pragma once

#include <cstdint>

#include "tensor/cuda/attention/attention_products.cuh"
#include "tensor/random.h"

namespace weft::cuda::attention {

// Returns a mask for kCount elements: bit i is set if element first + i is kept.
template <int kCount>
__device__ inline uint32_t kept_elements(const DropoutMask& dropout, uint64_t first) {
  constexpr int kGroups = kCount / DropoutMask::kGroup + 1;  // max number of groups with these elements
  const uint32_t threshold = dropout.threshold();
  uint32_t kept = 0;
  for (int group = 0; group < kGroups; ++group) {
    const PhiloxBits bits =
        philox(dropout.seed, first / DropoutMask::kGroup + static_cast<uint64_t>(group), dropout.step, dropout.purpose);
    for (int i = 0; i < DropoutMask::kGroup; ++i) {
      const bool keeps = (bits.v[i / 2] >> (16 * (i % 2)) & 0xFFFFu) >= threshold;
      kept |= static_cast<uint32_t>(keeps) << (DropoutMask::kGroup * group + i);
    }
  }
  return kept >> (first % DropoutMask::kGroup) & ((1u << kCount) - 1u);
}

// Tells which of a lane's elements are kept, in Accumulators of up to 64 columns.
struct Kept {
  uint32_t bits = 0;
  __device__ static Kept all() { return {0xFFFFFFFFu}; }
  __device__ void set(int group, int i, uint32_t bit) { bits |= (bit & 1u) << (4 * group + i); }
  __device__ bool operator()(int group, int i) const { return bits >> (4 * group + i) & 1u; }
};

// Returns the mask of kTileRows queries x kKeys keys. `query` and `key` are its first row and column in the full mask.
template <int kKeys>
__device__ inline Kept kept_of_queries(const DropoutMask& dropout, int64_t query, int64_t key) {
  static_assert(kTileRows == 16, "two lanes per query");
  constexpr int kHalf = kKeys / 2;
  const int lane = lane_id();
  const uint32_t mine = kept_elements<kHalf>(dropout, dropout.index(query + lane / 2, key + lane % 2 * kHalf));
  Kept kept;
  for (int row = 0; row < 2; ++row) {
    const int source = 2 * row_of(2 * row);
    const uint32_t low = __shfl_sync(0xFFFFFFFFu, mine, source), high = __shfl_sync(0xFFFFFFFFu, mine, source + 1);
    const uint32_t keys = low | high << kHalf;
    for (int group = 0; group < kKeys / 8; ++group) {
      for (int i = 0; i < 2; ++i) kept.set(group, 2 * row + i, keys >> column_of(group, i));
    }
  }
  return kept;
}

}  // namespace weft::cuda::attention
