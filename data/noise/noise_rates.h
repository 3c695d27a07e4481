// data/noise/noise_rates.h: sets how often each kind of noise is applied to a text, and draws a text's noise.
#pragma once

#include <array>
#include <set>
#include <string>

#include "data/noise/noise.h"

namespace weft {

struct NoiseRates {
  std::array<double, kNumTextNoises> of{};  // share of texts that get each TextNoise

  double operator[](TextNoise noise) const { return of[static_cast<size_t>(noise)]; }
  bool any() const;
};

// Parses "upper=0.05,typos=0.1"; "" means none. Throws a one-line usage Error that names `option` and what is wrong.
NoiseRates parse_noise_rates(const std::string& option, const std::string& text);

// Parses letter cases such as "upper,title". Throws a usage Error for other noise, and for a case with rate 0.
std::set<TextNoise> parse_letter_cases(const std::string& option, const std::string& text, const NoiseRates& rates);

// Holds the noise of one text: at most one letter case, and any of the other kinds independently.
struct ChosenNoise {
  TextNoise letter_case = TextNoise::none;
  bool typos = false, punctuation = false, words = false;
};

// Draws noise as a pure function of the place. Philox: key = seed; counter = {pair, visit, purpose_of("noise")}; its
// four words choose letter case, typos, punctuation and words, in this order.
ChosenNoise choose_noise(const NoiseRates& rates, const NoisePlace& place);

// Applies `chosen`: slips with spaces first, the letter case last. REQUIRES: `text` is one line.
std::string with_noise(const ChosenNoise& chosen, std::string_view text, const NoisePlace& place);

}  // namespace weft
