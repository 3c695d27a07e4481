// data/order/permutation.h: computes a keyed pseudo-random permutation of [0, size), point by point, without memory.
//
// It is a Feistel network, which writes i as two digits: i = left * num_right + right. Each round adds a function of
// one digit, keyed with Philox, to the other digit, so the rounds and the network are invertible. The digits span a
// little more than [0, size); a result outside this range is permuted again until it is inside (cycle walking).
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/random.h"

namespace weft {

class Permutation {
 public:
  Permutation(int64_t size, uint64_t key) : Permutation(size, key, kRounds) {}
  static Permutation identity(int64_t size) { return Permutation(size, 0, 0); }

  int64_t size() const { return static_cast<int64_t>(size_); }

  int64_t operator()(int64_t i) const {
    uint64_t x = static_cast<uint64_t>(i);
    do {
      for (uint32_t round = 0; round < rounds_; ++round) x = turned(x, round, /*forward=*/true);
    } while (x >= size_);
    return static_cast<int64_t>(x);
  }

  int64_t inverse(int64_t i) const {
    uint64_t x = static_cast<uint64_t>(i);
    do {
      for (uint32_t round = rounds_; round-- > 0;) x = turned(x, round, /*forward=*/false);
    } while (x >= size_);
    return static_cast<int64_t>(x);
  }

 private:
  static constexpr uint32_t kRounds = 8;

  Permutation(int64_t size, uint64_t key, uint32_t rounds)
      : size_(static_cast<uint64_t>(size)),
        num_left_(static_cast<uint64_t>(std::ceil(std::sqrt(static_cast<double>(size))))),
        num_right_(num_left_ == 0 ? 0 : (size_ + num_left_ - 1) / num_left_),
        key_(key),
        rounds_(rounds) {}

  uint64_t turned(uint64_t x, uint32_t round, bool forward) const {
    uint64_t left = x / num_right_, right = x % num_right_;
    const bool even = round % 2 == 0;
    uint64_t& digit = even ? left : right;
    const uint64_t modulus = even ? num_left_ : num_right_;
    const PhiloxBits bits = philox(key_, even ? right : left, round, 0);
    const uint64_t shift = ((static_cast<uint64_t>(bits.v[1]) << 32) | bits.v[0]) % modulus;
    digit = (digit + (forward ? shift : modulus - shift)) % modulus;
    return left * num_right_ + right;
  }

  uint64_t size_, num_left_, num_right_, key_;
  uint32_t rounds_;
};

}  // namespace weft
