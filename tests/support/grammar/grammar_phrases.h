// tests/support/grammar/grammar_phrases.h: numbers, clock times, dates and noun phrases of the built-in grammar, each
// with its translation.
//
// All functions are pure. Tokens are separated by single spaces.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/grammar/grammar_words.h"

namespace weft::testing::grammar {

struct Text {  // the same thing in both languages
  std::string en, de;
  bool operator==(const Text&) const = default;
};

Text number(int value);  // 1 to 399: "three hundred twenty one", "drei hundert ein und zwanzig"
Text room(int value);    // "room two", "Zimmer zwei"
Text nights(int value);  // "one night", "eine Nacht"; "two nights", "zwei Nächte"

enum class ClockKind : uint8_t { full_hour, half_past, quarter_to, minutes_past };

struct Clock {
  ClockKind kind;
  int hour;         // 1 to 11, as English says it: German says "halb vier" for half past three
  int minutes = 0;  // of minutes_past: 3 to 19
};

Text at(const Clock& clock);  // "at half past three", "um halb vier"
Text on(const Word& weekday, const Clock& clock);
Text on(const Word& weekday, const Word& ordinal, const Word& month);  // German sets the date between commas
Text tomorrow();

enum class Case : uint8_t { nominative, accusative };
enum class Determiner : uint8_t { definite, indefinite, counted, definite_plural };

struct Object {
  const Thing* thing;
  Determiner determiner;
  const Word* adjective = nullptr;  // may be missing
  int count = 0;                    // of counted things: 2 to 39

  bool plural() const { return determiner == Determiner::counted || determiner == Determiner::definite_plural; }
};

Text phrase(const Object& object, Case grammatical_case);
Text the(const Person& person);  // nominative: "the woman", "die Frau"

// "der", "die", "das"; the accusative "den". The nominative is the relative pronoun too.
std::string_view definite_article(Gender gender, Case grammatical_case);

}  // namespace weft::testing::grammar
