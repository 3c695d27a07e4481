// tests/support/grammar/grammar_phrases.cpp: German numbers, clock times, and agreement of articles and adjectives.
#include "tests/support/grammar/grammar_phrases.h"

#include <fmt/format.h>

namespace weft::testing::grammar {
namespace {

const Word& small_number(int value) { return kSmallNumbers.at(static_cast<size_t>(value - 1)); }
const Word& tens(int value) { return kTens.at(static_cast<size_t>(value / 10 - 2)); }

// "eins" occurs only at the end of a number: before "und" and "hundert" it is "ein".
std::string_view german_before_another(int digit) { return digit == 1 ? "ein" : small_number(digit).de; }

Text below_hundred(int value) {
  if (value < 20) return {std::string(small_number(value).en), std::string(small_number(value).de)};
  const int units = value % 10;
  if (units == 0) return {std::string(tens(value).en), std::string(tens(value).de)};
  return {fmt::format("{} {}", tens(value).en, small_number(units).en),
          fmt::format("{} und {}", german_before_another(units), tens(value).de)};
}

std::string_view indefinite_article(Gender gender, Case grammatical_case) {
  if (gender == Gender::feminine) return "eine";
  return gender == Gender::masculine && grammatical_case == Case::accusative ? "einen" : "ein";
}

// The adjective's ending depends on the word before it: weak after "der", mixed after "ein", strong after a
// number.
std::string_view adjective_ending(const Object& object, Case grammatical_case) {
  const Gender gender = object.thing->gender;
  if (object.determiner == Determiner::counted) return "e";
  if (object.determiner == Determiner::definite_plural) return "en";
  if (gender == Gender::masculine && grammatical_case == Case::accusative) return "en";
  if (object.determiner == Determiner::definite || gender == Gender::feminine) return "e";
  return gender == Gender::masculine ? "er" : "es";
}

std::string german_determiner(const Object& object, Case grammatical_case) {
  switch (object.determiner) {
    case Determiner::definite:
      return std::string(definite_article(object.thing->gender, grammatical_case));
    case Determiner::indefinite:
      return std::string(indefinite_article(object.thing->gender, grammatical_case));
    case Determiner::counted:
      return number(object.count).de;
    case Determiner::definite_plural:
      break;
  }
  return "die";
}

std::string english_determiner(const Object& object, char next_letter) {
  const bool vowel = std::string_view("aeiou").find(next_letter) != std::string_view::npos;
  switch (object.determiner) {
    case Determiner::indefinite:
      return vowel ? "an" : "a";
    case Determiner::counted:
      return number(object.count).en;
    default:
      return "the";
  }
}

}  // namespace

Text number(int value) {
  if (value < 100) return below_hundred(value);
  Text text{fmt::format("{} hundred", small_number(value / 100).en),
            fmt::format("{} hundert", german_before_another(value / 100))};
  if (value % 100 == 0) return text;
  const Text rest = below_hundred(value % 100);
  return {text.en + " " + rest.en, text.de + " " + rest.de};
}

Text room(int value) { return {"room " + number(value).en, "Zimmer " + number(value).de}; }

Text nights(int value) {
  if (value == 1) return {"one night", "eine Nacht"};
  return {number(value).en + " nights", number(value).de + " Nächte"};
}

Text at(const Clock& clock) {
  const Text hour = number(clock.hour);
  switch (clock.kind) {
    case ClockKind::full_hour:
      return {fmt::format("at {} o'clock", hour.en), fmt::format("um {} Uhr", german_before_another(clock.hour))};
    case ClockKind::half_past:
      return {"at half past " + hour.en, "um halb " + number(clock.hour + 1).de};
    case ClockKind::quarter_to:
      return {"at a quarter to " + hour.en, "um Viertel vor " + hour.de};
    case ClockKind::minutes_past:
      break;
  }
  const Text minutes = number(clock.minutes);
  return {fmt::format("at {} minutes past {}", minutes.en, hour.en),
          fmt::format("um {} Minuten nach {}", minutes.de, hour.de)};
}

Text on(const Word& weekday, const Clock& clock) {
  const Text time = at(clock);
  return {fmt::format("on {} {}", weekday.en, time.en), fmt::format("am {} {}", weekday.de, time.de)};
}

Text on(const Word& weekday, const Word& ordinal, const Word& month) {
  return {fmt::format("on {} the {} of {}", weekday.en, ordinal.en, month.en),
          fmt::format("am {} , dem {} {} ,", weekday.de, ordinal.de, month.de)};
}

Text tomorrow() { return {"tomorrow", "morgen"}; }

std::string_view definite_article(Gender gender, Case grammatical_case) {
  switch (gender) {
    case Gender::masculine:
      return grammatical_case == Case::nominative ? "der" : "den";
    case Gender::feminine:
      return "die";
    case Gender::neuter:
      break;
  }
  return "das";
}

Text phrase(const Object& object, Case grammatical_case) {
  std::string en{object.plural() ? object.thing->en_plural : object.thing->en};
  std::string de{object.plural() ? object.thing->de_plural : object.thing->de};
  if (object.adjective != nullptr) {
    en = fmt::format("{} {}", object.adjective->en, en);
    de = fmt::format("{}{} {}", object.adjective->de, adjective_ending(object, grammatical_case), de);
  }
  return {english_determiner(object, en.front()) + " " + en, german_determiner(object, grammatical_case) + " " + de};
}

Text the(const Person& person) {
  return {fmt::format("the {}", person.en),
          fmt::format("{} {}", definite_article(person.gender, Case::nominative), person.de)};
}

}  // namespace weft::testing::grammar
