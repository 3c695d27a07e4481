// data/text/noise_rates.cpp: reads rates, and draws.
#include "data/text/noise_rates.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

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

std::string names_of_noises() {
  std::string names;
  for (const auto& [text, noise] : enum_names(TextNoise()))
    if (noise != TextNoise::none) names += (names.empty() ? "" : ", ") + std::string(text);
  return names;
}

void for_each_item(std::string_view text, const std::function<void(std::string_view)>& visit) {
  while (!text.empty()) {
    const size_t end = text.find(',');
    visit(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
}

bool drawn(double rate, uint32_t bits) { return bits < static_cast<uint64_t>(rate * 0x1p32); }

}  // namespace

bool NoiseRates::any() const {
  return std::ranges::any_of(of, [](double rate) { return rate > 0; });
}

NoiseRates parse_noise_rates(const std::string& option, const std::string& text) {
  NoiseRates rates;
  const auto bad = [&](const std::string& what) {
    fail(ErrorKind::usage, fmt::format("{} {}: {}", option, text, what));
  };
  for_each_item(text, [&](std::string_view item) {
    const size_t equals = item.find('=');
    const std::string name(item.substr(0, equals));
    const std::optional<TextNoise> noise = noise_named(name);
    if (!noise) bad(fmt::format("'{}' is no noise; these are: {}", name, names_of_noises()));
    if (equals == std::string_view::npos) bad(fmt::format("'{}' has no rate; write {}=0.05, say", name, name));
    double& rate = rates.of[static_cast<size_t>(*noise)];
    if (rate != 0) bad(fmt::format("'{}' is there twice", name));
    const std::string_view number = item.substr(equals + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rate);
    if (error != std::errc() || end != number.data() + number.size() || !(rate > 0 && rate <= 1))
      bad(fmt::format("'{}' is no rate: give a number above 0, and at most 1", number));
  });
  double sum = 0;
  for (const TextNoise noise : kLetterCases) sum += rates[noise];
  if (sum > 1) bad("the rates of upper, title and lower must add up to 1 at most: a text has one letter case");
  return rates;
}

std::set<TextNoise> parse_letter_cases(const std::string& option, const std::string& text, const NoiseRates& rates) {
  std::set<TextNoise> cases;
  for_each_item(text, [&](std::string_view name) {
    const std::optional<TextNoise> noise = noise_named(name);
    if (!noise || std::ranges::find(kLetterCases, *noise) == std::end(kLetterCases))
      fail(ErrorKind::usage, fmt::format("{} {}: '{}' is no letter case; only upper, title and lower may be on the "
                                         "target, too",
                                         option, text, name));
    if (rates[*noise] == 0)
      fail(ErrorKind::usage, fmt::format("{} {}: give {} a rate in --noise, too", option, text, name));
    cases.insert(*noise);
  });
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
