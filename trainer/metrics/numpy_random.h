// trainer/metrics/numpy_random.h: generates the random numbers of NumPy's default_rng(seed), so that resampling draws
// the same samples as sacreBLEU.
//
// The generator is PCG64 (O'Neill 2014: a 128-bit linear congruential generator with the XSL-RR output), seeded by
// NumPy's SeedSequence. Integers below a bound are drawn by Lemire's method (2019) on 32 bits, as Generator.integers
// and Generator.choice do for bounds up to 2^32. tests/reference/numpy_random.py checks the numbers against NumPy.
#pragma once

#include <array>
#include <cstdint>

namespace weft {

// Returns SeedSequence(seed).generate_state(4, uint64): the generator's state and stream, high words first.
std::array<uint64_t, 4> numpy_seed_state(uint64_t seed);

class NumpyRandom {
 public:
  explicit NumpyRandom(uint64_t seed);

  uint64_t next_uint64();
  uint32_t next_uint32();          // returns both halves of a 64-bit number in turn, the low half first
  uint32_t below(uint32_t bound);  // returns 0 to bound - 1, all equally likely; bound = 1 draws no number

 private:
  unsigned __int128 state_, increment_;
  uint32_t high_half_ = 0;
  bool has_high_half_ = false;
};

// Draws the bits that a call of Generator.integers(2, dtype=bool) returns: 32 per 32-bit number, lowest bit first.
class CoinFlips {
 public:
  explicit CoinFlips(NumpyRandom& random) : random_(random) {}
  bool next();

 private:
  NumpyRandom& random_;
  uint32_t bits_ = 0;
  int num_left_ = 0;
};

}  // namespace weft
