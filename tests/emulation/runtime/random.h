// tests/emulation/runtime/random.h: a fast, seeded generator that shuffles the emulated device's orders.
#pragma once

#include <bit>
#include <cstdint>
#include <numeric>

namespace weft::emulation {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {  // SplitMix64 (Steele, Lea & Flood 2014)
    uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
  }
  uint64_t below(uint64_t n) { return next() % n; }

 private:
  uint64_t state_;
};

// Index of a set bit of `bits`, which is not 0, chosen uniformly by `draw`. Without a branch: no processor would
// predict it.
inline int pick_one(uint32_t bits, uint64_t draw) {
  auto skipped = static_cast<int>((draw & 0xFFFFFFFFu) * static_cast<uint64_t>(std::popcount(bits)) >> 32);
  int index = 0;
  for (int half = 16; half > 0; half /= 2) {
    const int lower = std::popcount(bits & ((1u << half) - 1));
    const int upper = -static_cast<int>(skipped >= lower);  // all bits, if it is in the upper half
    skipped -= lower & upper, bits >>= half & upper, index += half & upper;
  }
  return index;
}

// A permutation of 0 .. n - 1: i -> (first + i step) mod n, step coprime to n. Needs no memory, for any grid.
class Permutation {
 public:
  Permutation(uint64_t n, Random& random) : n_(n), step_(1 + random.below(n)), at_(random.below(n)) {
    while (std::gcd(step_, n) != 1) ++step_;
  }
  uint64_t next() {
    const uint64_t i = at_;
    at_ = (at_ + step_) % n_;
    return i;
  }

 private:
  uint64_t n_, step_, at_;
};

}  // namespace weft::emulation
