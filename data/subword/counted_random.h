// data/subword/counted_random.h: draws random numbers, as a pure function of (seed, sentence, visit, purpose).
#pragma once

#include "tensor/random.h"

namespace weft {

class CountedRandom {
 public:
  // REQUIRES: `sentence` is below 2^40. `visit` counts its earlier uses, and `purpose` is purpose_of(a fixed name).
  CountedRandom(uint64_t seed, uint64_t sentence, uint32_t visit, uint32_t purpose)
      : seed_(seed), first_(sentence << 24), visit_(visit), purpose_(purpose) {}

  // Returns the next number in [0, 1). REQUIRES: at most 2^26 numbers are drawn.
  double uniform() {
    const uint32_t lane = count_ % 4;
    if (lane == 0) bits_ = philox(seed_, first_ + count_ / 4, visit_, purpose_);
    ++count_;
    return bits_.v[lane] * 0x1p-32;
  }

 private:
  uint64_t seed_, first_;
  uint32_t visit_, purpose_, count_ = 0;
  PhiloxBits bits_{};
};

}  // namespace weft
