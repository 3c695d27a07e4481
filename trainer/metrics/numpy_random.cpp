// trainer/metrics/numpy_random.cpp: mixes seeds like SeedSequence, runs PCG64, and draws bounded numbers without bias.
#include "trainer/metrics/numpy_random.h"

#include <bit>
#include <limits>

#include "tensor/error.h"

namespace weft {
namespace {

using uint128 = unsigned __int128;

constexpr int kPoolSize = 4;
constexpr uint32_t kHashStart = 0x43b0d7e5, kHashFactor = 0x931e8875;    // hashes entropy into the pool
constexpr uint32_t kStateStart = 0x8b51f9dd, kStateFactor = 0x58f38ded;  // hashes the pool into a state
constexpr uint32_t kMixLeft = 0xca01f9dd, kMixRight = 0x4973f715;
constexpr uint128 kPcgFactor = uint128{0x2360ed051fc65da4} << 64 | 0x4385df649fccf645;

uint32_t fold(uint32_t value) { return value ^ value >> 16; }

class Hash {  // each call uses a different constant
 public:
  Hash(uint32_t start, uint32_t factor) : constant_(start), factor_(factor) {}
  uint32_t operator()(uint32_t value) {
    value ^= constant_;
    constant_ *= factor_;
    return fold(value * constant_);
  }

 private:
  uint32_t constant_;
  const uint32_t factor_;
};

std::array<uint32_t, kPoolSize> entropy_pool(uint64_t seed) {
  Hash hash(kHashStart, kHashFactor);
  std::array<uint32_t, kPoolSize> pool{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (uint32_t& word : pool) word = hash(word);
  for (int from = 0; from < kPoolSize; ++from)
    for (int to = 0; to < kPoolSize; ++to)
      if (from != to) pool[to] = fold(kMixLeft * pool[to] - kMixRight * hash(pool[from]));
  return pool;
}

}  // namespace

std::array<uint64_t, 4> numpy_seed_state(uint64_t seed) {
  const std::array<uint32_t, kPoolSize> pool = entropy_pool(seed);
  Hash hash(kStateStart, kStateFactor);
  std::array<uint64_t, 4> state{};
  for (int half = 0; half < 8; ++half) state[half / 2] |= uint64_t{hash(pool[half % kPoolSize])} << 32 * (half % 2);
  return state;
}

NumpyRandom::NumpyRandom(uint64_t seed) {
  const std::array<uint64_t, 4> words = numpy_seed_state(seed);
  const uint128 start = uint128{words[0]} << 64 | words[1], stream = uint128{words[2]} << 64 | words[3];
  increment_ = stream << 1 | 1;
  state_ = (increment_ + start) * kPcgFactor + increment_;  // two steps from state 0, with `start` added in between
}

uint64_t NumpyRandom::next_uint64() {
  state_ = state_ * kPcgFactor + increment_;
  const uint64_t folded = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
  return std::rotr(folded, static_cast<int>(state_ >> 122));
}

uint32_t NumpyRandom::next_uint32() {
  has_high_half_ = !has_high_half_;
  if (!has_high_half_) return high_half_;
  const uint64_t both = next_uint64();
  high_half_ = static_cast<uint32_t>(both >> 32);
  return static_cast<uint32_t>(both);
}

uint32_t NumpyRandom::below(uint32_t bound) {
  require(bound > 0, ErrorKind::internal, "the bound of a random number must be positive");
  if (bound == 1) return 0;
  uint64_t product = uint64_t{next_uint32()} * bound;
  // Rejects a product whose low half is below 2^32 mod bound, so that all results are equally likely.
  if (static_cast<uint32_t>(product) < bound) {
    const uint32_t surplus = (std::numeric_limits<uint32_t>::max() - bound + 1) % bound;
    while (static_cast<uint32_t>(product) < surplus) product = uint64_t{next_uint32()} * bound;
  }
  return static_cast<uint32_t>(product >> 32);
}

bool CoinFlips::next() {
  if (num_left_ == 0) {
    bits_ = random_.next_uint32();
    num_left_ = 32;
  }
  --num_left_;
  const bool heads = bits_ & 1;
  bits_ >>= 1;
  return heads;
}

}  // namespace weft
