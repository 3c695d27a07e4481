// data/noise/noise.h: adds noise that is common in text: a different letter case, typing errors, and slips with
// punctuation and spaces (data/noise/slips.h).
//
// The result is a pure function of the text and of its place, so it is the same on every grid and after every restart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/enum_names.h"

namespace weft {

enum class TextNoise : uint8_t { none, upper, title, lower, typos, punctuation, words };
inline constexpr size_t kNumTextNoises = 7;
constexpr EnumNames<TextNoise, kNumTextNoises> enum_names(TextNoise) {
  return {{{"none", TextNoise::none},
           {"upper", TextNoise::upper},
           {"title", TextNoise::title},
           {"lower", TextNoise::lower},
           {"typos", TextNoise::typos},
           {"punctuation", TextNoise::punctuation},
           {"words", TextNoise::words}}};
}

struct NoisePlace {
  uint64_t seed = 0;
  uint64_t pair = 0;   // number of the sentence in its corpus, below 2^46
  uint32_t visit = 0;  // how often the sentence was seen before
};

inline constexpr double kTypoRate = 0.1;  // share of words

// REQUIRES: `text` is one line.
std::string with_noise(TextNoise noise, std::string_view text, const NoisePlace& place);

// Puts an error into each word of three or more characters without digits, with probability `rate` per word. Four
// errors are equally likely: two neighboring characters are swapped, one is left out, one is typed twice, or the space
// after the word is left out. The first character is not changed. Philox: key = seed; counter = {pair * 2^18 + number
// of the word, visit, purpose_of("typos")}.
std::string with_typos(std::string_view text, double rate, const NoisePlace& place);

}  // namespace weft
