// data/noise/noise.cpp: makes typing errors, word by word.
#include "data/noise/noise.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "data/noise/letter_case.h"
#include "data/noise/slips.h"
#include "data/text/unicode.h"
#include "tensor/random.h"

namespace weft {
namespace {

using Characters = std::vector<std::string_view>;

Characters utf8_characters_of(std::string_view text) {
  Characters all;
  for (size_t i = 0; i < text.size(); i += all.back().size())
    all.push_back(text.substr(i, static_cast<size_t>(code_point_at(text, i).num_bytes)));
  return all;
}

bool may_have_typo(const Characters& word) {
  return word.size() >= 3 &&
         std::ranges::none_of(word, [](std::string_view c) { return is_number(code_point_at(c, 0).value); });
}

enum Typo : uint8_t { kSwap, kOmit, kRepeat, kJoin, kNumTypos };

// REQUIRES: `word` contains three or more characters.
void make_typo(Typo typo, uint32_t bits, Characters& word) {
  const auto last = static_cast<uint32_t>(word.size()) - 1;
  const uint32_t at = 1 + bits % (typo == kSwap ? last - 1 : last);  // the first character stays
  if (typo == kSwap && word[at] != word[at + 1]) {
    std::swap(word[at], word[at + 1]);
  } else if (typo == kOmit) {
    word.erase(word.begin() + at);
  } else {
    word.insert(word.begin() + at, word[at]);
  }
}

}  // namespace

std::string with_typos(std::string_view text, double rate, const NoisePlace& place) {
  const std::vector<std::string_view> words = split_words(text);
  const auto below = static_cast<uint64_t>(rate * 0x1p32);
  std::string out;
  size_t end = 0;
  bool joined = false;
  for (size_t w = 0; w < words.size(); ++w) {
    const auto begin = static_cast<size_t>(words[w].data() - text.data());
    if (!joined) out.append(text.substr(end, begin - end));
    end = begin + words[w].size();
    const PhiloxBits bits = philox(place.seed, place.pair << 18 | (w & 0x3ffff), place.visit, purpose_of("typos"));
    Characters word = utf8_characters_of(words[w]);
    const bool has_typo = bits.v[0] < below && may_have_typo(word);
    auto typo = static_cast<Typo>(bits.v[1] % kNumTypos);
    if (typo == kJoin && w + 1 == words.size()) typo = kSwap;
    joined = has_typo && typo == kJoin;
    if (has_typo && !joined) make_typo(typo, bits.v[2], word);
    for (const std::string_view c : word) out.append(c);
  }
  return out.append(text.substr(end));
}

std::string with_noise(TextNoise noise, std::string_view text, const NoisePlace& place) {
  switch (noise) {
    case TextNoise::none:
      return std::string(text);
    case TextNoise::upper:
      return upper_case(text);
    case TextNoise::title:
      return title_case(text);
    case TextNoise::lower:
      return lower_case(text);
    case TextNoise::typos:
      return with_typos(text, kTypoRate, place);
    case TextNoise::punctuation:
      return with_punctuation_slip(text, place);
    case TextNoise::words:
      return with_word_slip(text, place);
  }
  return std::string(text);
}

}  // namespace weft
