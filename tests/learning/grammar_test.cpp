// tests/learning/grammar_test.cpp: the built-in grammar makes correct sentences in both languages, is
// reproducible and keeps its sets disjoint.
#include "tests/support/grammar/grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>

#include "data/sha256.h"
#include "tensor/error.h"
#include "tests/support/grammar/grammar_sentences.h"

namespace weft::testing {
namespace {

using namespace grammar;

const Thing& thing(std::string_view english) { return *std::ranges::find(kThings, english, &Thing::en); }
const Person& person(std::string_view english) { return *std::ranges::find(kPersons, english, &Person::en); }
const Verb& verb(std::string_view english) { return *std::ranges::find(kVerbs, english, &Verb::en); }
const Word& adjective(std::string_view english) { return *std::ranges::find(kAdjectives, english, &Word::en); }

Object definite(std::string_view noun, const Word* adjective = nullptr) {
  return {&thing(noun), Determiner::definite, adjective};
}
Object indefinite(std::string_view noun, const Word* adjective = nullptr) {
  return {&thing(noun), Determiner::indefinite, adjective};
}
Object counted(int count, std::string_view noun, const Word* adjective = nullptr) {
  return {&thing(noun), Determiner::counted, adjective, count};
}
Object definite_plural(std::string_view noun, const Word* adjective = nullptr) {
  return {&thing(noun), Determiner::definite_plural, adjective};
}
std::string nominative(const Object& object) { return phrase(object, Case::nominative).de; }
std::string accusative(const Object& object) { return phrase(object, Case::accusative).de; }
std::string german_number(int value) { return number(value).de; }

// Shared by all tests: it takes some hundredths of a second to make.
const Corpus& corpus() {
  static const Corpus corpus = make_corpus();
  return corpus;
}

std::string digest(const Corpus& corpus) {
  Sha256 sha256;
  for (const std::vector<Text>* set : {&corpus.train, &corpus.valid, &corpus.test, &corpus.combinations})
    for (const Text& pair : *set) {
      const std::string line = pair.en + '\t' + pair.de + '\n';
      sha256.update(line.data(), line.size());
    }
  return sha256.hex();
}

// Whether ` text ` contains ` words `: whole words only.
bool says(const std::string& text, const std::string& words) {
  return (" " + text + " ").find(" " + words + " ") != std::string::npos;
}

TEST(GrammarNumber, GermanSaysUnitsBeforeTens) {
  EXPECT_EQ(number(321), (Text{"three hundred twenty one", "drei hundert ein und zwanzig"}));
  EXPECT_EQ(number(76), (Text{"seventy six", "sechs und siebzig"}));
}

TEST(GrammarNumber, EinsStandsOnlyAtTheEnd) {
  EXPECT_EQ(german_number(1), "eins");
  EXPECT_EQ(german_number(201), "zwei hundert eins");
  EXPECT_EQ(german_number(100), "ein hundert");
  EXPECT_EQ(german_number(31), "ein und dreißig");
  EXPECT_EQ(german_number(111), "ein hundert elf");
}

TEST(GrammarNumber, EachOneIsDifferentInBothLanguages) {
  std::set<std::string> english, german;
  for (int value = 1; value <= 399; ++value) {
    english.insert(number(value).en);
    german.insert(number(value).de);
  }
  EXPECT_EQ(english.size(), 399u);
  EXPECT_EQ(german.size(), 399u);
}

TEST(GrammarNumber, OneNightIsSingular) {
  EXPECT_EQ(nights(1), (Text{"one night", "eine Nacht"}));
  EXPECT_EQ(nights(21), (Text{"twenty one nights", "ein und zwanzig Nächte"}));
}

TEST(GrammarClock, FullHours) {
  EXPECT_EQ(at({ClockKind::full_hour, 3}), (Text{"at three o'clock", "um drei Uhr"}));
  EXPECT_EQ(at({ClockKind::full_hour, 1}), (Text{"at one o'clock", "um ein Uhr"}));
}

TEST(GrammarClock, GermanHalvesTheHourToCome) {
  EXPECT_EQ(at({ClockKind::half_past, 3}), (Text{"at half past three", "um halb vier"}));
  EXPECT_EQ(at({ClockKind::half_past, 11}), (Text{"at half past eleven", "um halb zwölf"}));
}

TEST(GrammarClock, QuartersAndMinutes) {
  EXPECT_EQ(at({ClockKind::quarter_to, 1}), (Text{"at a quarter to one", "um Viertel vor eins"}));
  EXPECT_EQ(at({ClockKind::minutes_past, 8, 17}),
            (Text{"at seventeen minutes past eight", "um siebzehn Minuten nach acht"}));
}

TEST(GrammarDate, GermanSetsItBetweenCommas) {
  EXPECT_EQ(on(kWeekdays[0], kOrdinals[2], kMonths[2]),
            (Text{"on Monday the third of March", "am Montag , dem dritten März ,"}));
}

TEST(GrammarAgreement, NominativeSingular) {
  const Word* big = &adjective("big");
  EXPECT_EQ(nominative(definite("key", big)), "der große Schlüssel");
  EXPECT_EQ(nominative(definite("bag", big)), "die große Tasche");
  EXPECT_EQ(nominative(definite("bed", big)), "das große Bett");
  EXPECT_EQ(nominative(indefinite("key", big)), "ein großer Schlüssel");
  EXPECT_EQ(nominative(indefinite("bag", big)), "eine große Tasche");
  EXPECT_EQ(nominative(indefinite("bed", big)), "ein großes Bett");
}

TEST(GrammarAgreement, TheAccusativeChangesOnlyTheMasculine) {
  const Word* big = &adjective("big");
  EXPECT_EQ(accusative(definite("key", big)), "den großen Schlüssel");
  EXPECT_EQ(accusative(indefinite("key", big)), "einen großen Schlüssel");
  for (const char* noun : {"bag", "bed"})
    for (const Object& object : {definite(noun, big), indefinite(noun, big)})
      EXPECT_EQ(accusative(object), nominative(object));
}

TEST(GrammarAgreement, PluralsHaveOneFormForAllGenders) {
  const Word* old = &adjective("old");
  for (const Case grammatical_case : {Case::nominative, Case::accusative}) {
    EXPECT_EQ(phrase(counted(31, "key", old), grammatical_case),
              (Text{"thirty one old keys", "ein und dreißig alte Schlüssel"}));
    EXPECT_EQ(phrase(definite_plural("map", old), grammatical_case), (Text{"the old maps", "die alten Stadtpläne"}));
    EXPECT_EQ(phrase(definite_plural("bag"), grammatical_case), (Text{"the bags", "die Taschen"}));
  }
}

TEST(GrammarAgreement, EnglishAnBeforeAVowel) {
  EXPECT_EQ(phrase(indefinite("umbrella"), Case::nominative).en, "an umbrella");
  EXPECT_EQ(phrase(indefinite("umbrella", &adjective("red")), Case::nominative).en, "a red umbrella");
  EXPECT_EQ(phrase(indefinite("key", &adjective("old")), Case::nominative).en, "an old key");
}

TEST(GrammarSentence, Request) {
  EXPECT_EQ(request(indefinite("towel", &adjective("warm")), 204),
            (Text{"could you bring a warm towel to room two hundred four , please ?",
                  "könnten Sie bitte ein warmes Handtuch in Zimmer zwei hundert vier bringen ?"}));
}

TEST(GrammarSentence, ModalHasTimeBeforeObject) {
  EXPECT_EQ(modal(kModals[0], verb("pay for"), definite("suitcase"), tomorrow()),
            (Text{"I want to pay for the suitcase tomorrow .", "ich möchte morgen den Koffer bezahlen ."}));
}

TEST(GrammarSentence, ReportHasItsVerbLast) {
  EXPECT_EQ(report(kReports[0], person("waiter"), verb("lose"), definite_plural("ticket", &adjective("new"))),
            (Text{"I think that the waiter has lost the new tickets .",
                  "ich glaube , dass der Kellner die neuen Fahrkarten verloren hat ."}));
}

TEST(GrammarSentence, RelativePronounAgreesWithThePerson) {
  const Text time = on(kWeekdays[4], kOrdinals[0], kMonths[4]);
  EXPECT_EQ(relative(person("receptionist"), verb("see"), definite("table"), time),
            (Text{"the receptionist who has seen the table will leave on Friday the first of May .",
                  "die Empfangsdame , die den Tisch gesehen hat , wird am Freitag , dem ersten Mai , abreisen ."}));
  EXPECT_EQ(relative(person("child"), verb("open"), indefinite("window"), tomorrow()).de,
            "das Kind , das ein Fenster geöffnet hat , wird morgen abreisen .");
}

TEST(GrammarSentence, PredicateAgreesInNumberAlone) {
  EXPECT_EQ(predicate(indefinite("umbrella", &adjective("red")), adjective("cheap"), /*negated=*/false),
            (Text{"a red umbrella is cheap .", "ein roter Schirm ist billig ."}));
  EXPECT_EQ(predicate(counted(12, "room"), adjective("quiet"), /*negated=*/true),
            (Text{"twelve rooms are not quiet .", "zwölf Zimmer sind nicht ruhig ."}));
}

TEST(GrammarSentence, Reservation) {
  EXPECT_EQ(reservation(101, 1, on(kWeekdays[6], {ClockKind::half_past, 4})),
            (Text{"we have reserved room one hundred one for one night on Sunday at half past four .",
                  "wir haben am Sonntag um halb fünf Zimmer ein hundert eins für eine Nacht reserviert ."}));
}

TEST(GrammarSentence, QuestionInThePast) {
  EXPECT_EQ(
      question(person("guest"), verb("find"), counted(2, "lamp"), at({ClockKind::full_hour, 9})),
      (Text{"did the guest find two lamps at nine o'clock ?", "hat der Gast um neun Uhr zwei Lampen gefunden ?"}));
}

TEST(GrammarCorpus, HasTheSetsItPromises) {
  EXPECT_EQ(corpus().train.size(), 18500u);
  EXPECT_EQ(corpus().valid.size(), 500u);
  EXPECT_EQ(corpus().test.size(), 1000u);
  EXPECT_EQ(corpus().combinations.size(), 500u);
}

TEST(GrammarCorpus, IsTheSameOnEveryMachine) {
  EXPECT_EQ(digest(corpus()), "e183d3d00662e82a7237a26da62bbadabd6ed89b2487aa9ea369fbaa3ca953f8");
  EXPECT_EQ(digest(make_corpus(2000, 7)), digest(make_corpus(2000, 7)));
  EXPECT_NE(digest(make_corpus(2000, 7)), digest(make_corpus(2000, 8)));
}

TEST(GrammarCorpus, EachSourceOccursOnce) {
  std::unordered_set<std::string> sources;
  for (const auto* set : {&corpus().train, &corpus().valid, &corpus().test, &corpus().combinations})
    for (const Text& pair : *set) EXPECT_TRUE(sources.insert(pair.en).second) << pair.en;
}

TEST(GrammarCorpus, TrainingNeverSeesAHeldOutRoom) {
  size_t num_nearby = 0;
  for (const auto* set : {&corpus().train, &corpus().valid, &corpus().test})
    for (const Text& pair : *set) {
      if (!says(pair.en, "room two hundred")) continue;
      ++num_nearby;
      for (int value = 200; value <= 249; ++value)
        for (const char* next_word : {" for", " ,"}) ASSERT_FALSE(says(pair.en, room(value).en + next_word)) << pair.en;
    }
  EXPECT_GT(num_nearby, 100u);  // 250 to 299 are there
}

TEST(GrammarCorpus, TrainingNeverSeesAHeldOutAdjectiveWithItsThing) {
  for (const Thing& thing : kThings)
    for (const Word& adjective : kAdjectives) {
      if (!held_out_adjective(thing, adjective)) continue;
      for (const auto* set : {&corpus().train, &corpus().valid, &corpus().test})
        for (const Text& pair : *set)
          for (const std::string_view noun : {thing.en, thing.en_plural})
            ASSERT_FALSE(says(pair.en, fmt::format("{} {}", adjective.en, noun))) << pair.en;
    }
}

TEST(GrammarCorpus, EachThingKeepsNineAdjectives) {
  for (const Thing& thing : kThings)
    EXPECT_EQ(std::ranges::count_if(kAdjectives, [&](const Word& word) { return held_out_adjective(thing, word); }), 1);
}

TEST(GrammarCorpus, TrainingKnowsEveryWordOfTheCombinations) {
  const auto words = [](const std::vector<Text>& set) {
    std::set<std::string> words;
    for (const Text& pair : set)
      for (const std::string& text : {pair.en, pair.de})
        for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
          end = text.find(' ', begin);
          words.insert(text.substr(begin, end - begin));
        }
    return words;
  };
  EXPECT_TRUE(std::ranges::includes(words(corpus().train), words(corpus().combinations)));
}

TEST(GrammarCorpus, RefusesTooFewPairs) { EXPECT_THROW(make_corpus(1500), Error); }

}  // namespace
}  // namespace weft::testing
