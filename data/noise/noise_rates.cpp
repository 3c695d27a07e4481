// data/noise/noise_rates.cpp: parses rates of noise, and draws a text's noise.
#include "data/noise/noise_rates.h"

#include <algorithm>
#include <optional>

#include "data/noise/rates.h"
#include "data/text/split.h"
#include "tensor/error.h"
#include "tensor/random.h"

namespace weft {
namespace {

constexpr TextNoise kLetterCases[] = {TextNoise::upper, TextNoise::title, TextNoise::lower};

std::optional<TextNoise> noise_named(std::string_view name) {
  for (const auto& [text, noise] : enum_names(TextNoise()))
    if (text == name && noise != TextNoise::none) return noise;
  return std::nullopt;
}

}  // namespace

bool NoiseRates::any() const {
  return std::ranges::any_of(of, [](double rate) { return rate > 0; });
}

NoiseRates parse_noise_rates(const std::string& option, const std::string& text) {
  std::vector<std::string_view> names;
  for (const auto& [name, noise] : enum_names(TextNoise()))
    if (noise != TextNoise::none) names.push_back(name);
  const std::vector<double> given = parse_rates(option, text, names, "noise");
  NoiseRates rates;
  for (size_t i = 0; i < names.size(); ++i) rates.of[static_cast<size_t>(*noise_named(names[i]))] = given[i];
  double sum = 0;
  for (const TextNoise noise : kLetterCases) sum += rates[noise];
  if (sum > 1)
    fail(ErrorKind::usage, fmt::format("{} {}: the rates of upper, title and lower must add up to at most 1, because a "
                                       "text gets only one letter case",
                                       option, text));
  return rates;
}

std::set<TextNoise> parse_letter_cases(const std::string& option, const std::string& text, const NoiseRates& rates) {
  std::set<TextNoise> cases;
  if (text.empty()) return cases;
  for (const std::string& name : split_at_commas(text)) {
    const std::optional<TextNoise> noise = noise_named(name);
    if (!noise || std::ranges::find(kLetterCases, *noise) == std::end(kLetterCases))
      fail(ErrorKind::usage, fmt::format("{} {}: '{}' is not a letter case; give only upper, title or lower", option,
                                         printable(text), printable(name)));
    if (rates[*noise] == 0)
      fail(ErrorKind::usage,
           fmt::format("{} {}: {} needs a rate in --noise as well", option, printable(text), printable(name)));
    cases.insert(*noise);
  }
  return cases;
}

ChosenNoise choose_noise(const NoiseRates& rates, const NoisePlace& place) {
  ChosenNoise chosen;
  if (!rates.any()) return chosen;
  const PhiloxBits bits = philox(place.seed, place.pair, place.visit, purpose_of("noise"));
  double sum = 0;
  for (const TextNoise noise : kLetterCases)
    if (drawn(sum += rates[noise], bits.v[0]) && chosen.letter_case == TextNoise::none) chosen.letter_case = noise;
  chosen.typos = drawn(rates[TextNoise::typos], bits.v[1]);
  chosen.punctuation = drawn(rates[TextNoise::punctuation], bits.v[2]);
  chosen.words = drawn(rates[TextNoise::words], bits.v[3]);
  return chosen;
}

std::string with_noise(const ChosenNoise& chosen, std::string_view text, const NoisePlace& place) {
  std::string out(text);
  if (chosen.words) out = with_noise(TextNoise::words, out, place);
  if (chosen.punctuation) out = with_noise(TextNoise::punctuation, out, place);
  if (chosen.typos) out = with_noise(TextNoise::typos, out, place);
  return with_noise(chosen.letter_case, out, place);
}

}  // namespace weft
