// data/subword/counted_random.h: random numbers of a sentence: a pure function of (seed, sentence, visit, purpose).
#pragma once

#include "tensor/random.h"

namespace weft {

class CountedRandom {
 public:
  // REQUIRES: `sentence` is below 2^40. `visit` counts earlier uses; `purpose` is purpose_of() a stable name.
  CountedRandom(uint64_t seed, uint64_t sentence, uint32_t visit, uint32_t purpose)
      : seed_(seed), first_(sentence << 24), visit_(visit), purpose_(purpose) {}

  // Returns a number in [0, 1): one of 2^26.
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
