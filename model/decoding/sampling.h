// model/decoding/sampling.h: draws the next token of a sample.
//
// A token's probability is proportional to p^(1 / temperature). With top_k (Fan et al. 2018), only the `top_k` most
// probable tokens can be drawn, and with top_p (nucleus sampling, Holtzman et al. 2020) only the fewest of them, from
// the most probable on, whose probabilities add up to top_p or more. In ties, the lower id is the more probable one.
//
// A draw is a pure function of the probabilities, the seed, the sentence with its prefix, the number of the sample and
// the position of the token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

struct SamplingOptions {
  int64_t samples = 0;     // per sentence; 0: no sampling
  int64_t top_k = 0;       // 0: all tokens
  double top_p = 1;        // in (0, 1]
  double temperature = 1;  // > 0; below 1, probable tokens become more probable
  uint64_t seed = 1;
};

// Returns for each token its probability times a constant, or 0 if it cannot be drawn. `log_probs` are natural
// logarithms up to a constant; -infinity for a token that is not allowed. REQUIRES: one of them is finite.
std::vector<double> sampling_weights(std::span<const double> log_probs, const SamplingOptions& options);

// Returns the first index at which the sum of the weights exceeds `uniform`, in [0, 1), times the sum of all.
int32_t draw(std::span<const double> weights, double uniform);

// Identifies what the samples of a sentence depend on besides their number (64-bit FNV-1a).
uint64_t sampling_key(std::span<const int32_t> source, std::span<const int32_t> prefix);

// Returns a number in [0, 1) with 53 random bits. Philox: key = seed; counter = {key << 11 | position, sample,
// purpose_of("decode.sample")}. REQUIRES: position < 2^11, sample < 2^32.
double sampling_uniform(uint64_t seed, uint64_t key, int64_t sample, int64_t position);

}  // namespace weft
