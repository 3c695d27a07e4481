// data/noise/noise_rates.h: how often each kind of noise is applied to a text, and its random choice.
#pragma once

#include <array>
#include <set>
#include <string>

#include "data/noise/noise.h"

namespace weft {

struct NoiseRates {
  std::array<double, kNumTextNoises> of{};  // share of texts, by TextNoise

  double operator[](TextNoise noise) const { return of[static_cast<size_t>(noise)]; }
  bool any() const;
};

// Parses "upper=0.05,typos=0.1"; "" means none. Throws a one-line usage Error that names `option` and what is wrong.
NoiseRates parse_noise_rates(const std::string& option, const std::string& text);

// Parses "upper,title": kinds of letter case whose rates are not 0. Throws a usage Error for anything else.
std::set<TextNoise> parse_letter_cases(const std::string& option, const std::string& text, const NoiseRates& rates);

// The noise of one text: at most one letter case, and each other kind independently.
struct ChosenNoise {
  TextNoise letter_case = TextNoise::none;
  bool typos = false, punctuation = false, words = false;
};

// Draws as a pure function of the place. Philox: key = seed; counter = {pair, visit, purpose_of("noise")}; its words
// choose letter case, typos, punctuation and words.
ChosenNoise choose_noise(const NoiseRates& rates, const NoisePlace& place);

// Applies slips with spaces first and letter case last. REQUIRES: `text` is one line.
std::string with_noise(const ChosenNoise& chosen, std::string_view text, const NoisePlace& place);

}  // namespace weft
