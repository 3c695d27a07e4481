// data/noise/noise_rates.h: how often which noise is put on a text, and its choice.
#pragma once

#include <array>
#include <set>
#include <string>

#include "data/noise/noise.h"

namespace weft {

struct NoiseRates {
  std::array<double, kNumTextNoises> of{};  // by TextNoise: the share of texts

  double operator[](TextNoise noise) const { return of[static_cast<size_t>(noise)]; }
  bool any() const;
};

// "upper=0.05,typos=0.1"; "": none. A usage Error of one line names `option` and what is wrong.
NoiseRates parse_noise_rates(const std::string& option, const std::string& text);

// "upper,title": kinds of letter case whose rates are not 0. A usage Error for anything else.
std::set<TextNoise> parse_letter_cases(const std::string& option, const std::string& text, const NoiseRates& rates);

// What a text gets: at most one letter case, and each other kind by itself.
struct ChosenNoise {
  TextNoise letter_case = TextNoise::none;
  bool typos = false, punctuation = false, words = false;
};

// A pure function of the place. Philox: key = seed; counter = {pair, visit, purpose_of("noise")}; its words choose
// letter case, typos, punctuation and words.
ChosenNoise choose_noise(const NoiseRates& rates, const NoisePlace& place);

// Spaces first and letter case last. `text` is one line.
std::string with_noise(const ChosenNoise& chosen, std::string_view text, const NoisePlace& place);

}  // namespace weft
