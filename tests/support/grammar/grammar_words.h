// tests/support/grammar/grammar_words.h: the words of the built-in grammar, for travellers in a hotel, in English and
// German.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft::testing::grammar {

enum class Gender : uint8_t { masculine, feminine, neuter };

struct Word {
  std::string_view en, de;
};

struct Thing {
  std::string_view en, en_plural, de, de_plural;
  Gender gender;
};

struct Person {
  std::string_view en, de;
  Gender gender;
};

struct Verb {
  std::string_view en, en_participle, de, de_participle;
};

inline constexpr std::array kThings = std::to_array<Thing>({
    {"key", "keys", "Schlüssel", "Schlüssel", Gender::masculine},
    {"suitcase", "suitcases", "Koffer", "Koffer", Gender::masculine},
    {"table", "tables", "Tisch", "Tische", Gender::masculine},
    {"map", "maps", "Stadtplan", "Stadtpläne", Gender::masculine},
    {"umbrella", "umbrellas", "Schirm", "Schirme", Gender::masculine},
    {"taxi", "taxis", "Taxi", "Taxis", Gender::neuter},
    {"room", "rooms", "Zimmer", "Zimmer", Gender::neuter},
    {"bed", "beds", "Bett", "Betten", Gender::neuter},
    {"towel", "towels", "Handtuch", "Handtücher", Gender::neuter},
    {"window", "windows", "Fenster", "Fenster", Gender::neuter},
    {"bag", "bags", "Tasche", "Taschen", Gender::feminine},
    {"ticket", "tickets", "Fahrkarte", "Fahrkarten", Gender::feminine},
    {"bill", "bills", "Rechnung", "Rechnungen", Gender::feminine},
    {"lamp", "lamps", "Lampe", "Lampen", Gender::feminine},
    {"newspaper", "newspapers", "Zeitung", "Zeitungen", Gender::feminine},
    {"blanket", "blankets", "Decke", "Decken", Gender::feminine},
});

inline constexpr std::array kAdjectives = std::to_array<Word>({
    {"small", "klein"},
    {"big", "groß"},
    {"red", "rot"},
    {"old", "alt"},
    {"new", "neu"},
    {"heavy", "schwer"},
    {"clean", "sauber"},
    {"quiet", "ruhig"},
    {"cheap", "billig"},
    {"warm", "warm"},
});

inline constexpr std::array kPersons = std::to_array<Person>({
    {"man", "Mann", Gender::masculine},
    {"woman", "Frau", Gender::feminine},
    {"child", "Kind", Gender::neuter},
    {"guest", "Gast", Gender::masculine},
    {"waiter", "Kellner", Gender::masculine},
    {"receptionist", "Empfangsdame", Gender::feminine},
});

inline constexpr std::array kVerbs = std::to_array<Verb>({
    {"bring", "brought", "bringen", "gebracht"},
    {"book", "booked", "buchen", "gebucht"},
    {"find", "found", "finden", "gefunden"},
    {"pay for", "paid for", "bezahlen", "bezahlt"},
    {"see", "seen", "sehen", "gesehen"},
    {"clean", "cleaned", "reinigen", "gereinigt"},
    {"lose", "lost", "verlieren", "verloren"},
    {"open", "opened", "öffnen", "geöffnet"},
    {"forget", "forgotten", "vergessen", "vergessen"},
});

inline constexpr std::array kModals = std::to_array<Word>({
    {"I want to", "ich möchte"},
    {"I have to", "ich muss"},
    {"I can", "ich kann"},
});

inline constexpr std::array kReports = std::to_array<Word>({
    {"I think", "ich glaube"},
    {"I know", "ich weiß"},
    {"he says", "er sagt"},
});

inline constexpr std::array kWeekdays = std::to_array<Word>({
    {"Monday", "Montag"},
    {"Tuesday", "Dienstag"},
    {"Wednesday", "Mittwoch"},
    {"Thursday", "Donnerstag"},
    {"Friday", "Freitag"},
    {"Saturday", "Samstag"},
    {"Sunday", "Sonntag"},
});

inline constexpr std::array kMonths = std::to_array<Word>({
    {"January", "Januar"},
    {"February", "Februar"},
    {"March", "März"},
    {"April", "April"},
    {"May", "Mai"},
    {"June", "Juni"},
    {"July", "Juli"},
    {"October", "Oktober"},
});

inline constexpr std::array kOrdinals = std::to_array<Word>({
    {"first", "ersten"},
    {"second", "zweiten"},
    {"third", "dritten"},
    {"fourth", "vierten"},
    {"fifth", "fünften"},
    {"sixth", "sechsten"},
    {"seventh", "siebten"},
    {"eighth", "achten"},
    {"ninth", "neunten"},
    {"tenth", "zehnten"},
});

// 1 to 19; "eins" is the form at the end of a number.
inline constexpr std::array kSmallNumbers = std::to_array<Word>({
    {"one", "eins"},           {"two", "zwei"},          {"three", "drei"},        {"four", "vier"},
    {"five", "fünf"},          {"six", "sechs"},         {"seven", "sieben"},      {"eight", "acht"},
    {"nine", "neun"},          {"ten", "zehn"},          {"eleven", "elf"},        {"twelve", "zwölf"},
    {"thirteen", "dreizehn"},  {"fourteen", "vierzehn"}, {"fifteen", "fünfzehn"},  {"sixteen", "sechzehn"},
    {"seventeen", "siebzehn"}, {"eighteen", "achtzehn"}, {"nineteen", "neunzehn"},
});

// 20, 30 to 90.
inline constexpr std::array kTens = std::to_array<Word>({
    {"twenty", "zwanzig"},
    {"thirty", "dreißig"},
    {"forty", "vierzig"},
    {"fifty", "fünfzig"},
    {"sixty", "sechzig"},
    {"seventy", "siebzig"},
    {"eighty", "achtzig"},
    {"ninety", "neunzig"},
});

}  // namespace weft::testing::grammar
