// tests/support/grammar/grammar_sentences.cpp: one template for each sentence type and language, with its word order.
#include "tests/support/grammar/grammar_sentences.h"

#include <fmt/format.h>

namespace weft::testing::grammar {

Text request(const Object& object, int room_number) {
  const Text thing = phrase(object, Case::accusative), place = room(room_number);
  return {fmt::format("could you bring {} to {} , please ?", thing.en, place.en),
          fmt::format("könnten Sie bitte {} in {} bringen ?", thing.de, place.de)};
}

Text modal(const Word& modal_verb, const Verb& verb, const Object& object, const Text& time) {
  const Text thing = phrase(object, Case::accusative);
  return {fmt::format("{} {} {} {} .", modal_verb.en, verb.en, thing.en, time.en),
          fmt::format("{} {} {} {} .", modal_verb.de, time.de, thing.de, verb.de)};
}

Text report(const Word& introduction, const Person& person, const Verb& verb, const Object& object) {
  const Text thing = phrase(object, Case::accusative), who = the(person);
  return {fmt::format("{} that {} has {} {} .", introduction.en, who.en, verb.en_participle, thing.en),
          fmt::format("{} , dass {} {} {} hat .", introduction.de, who.de, thing.de, verb.de_participle)};
}

Text relative(const Person& person, const Verb& verb, const Object& object, const Text& time) {
  const Text thing = phrase(object, Case::accusative), who = the(person);
  const std::string_view pronoun = definite_article(person.gender, Case::nominative);
  return {
      fmt::format("{} who has {} {} will leave {} .", who.en, verb.en_participle, thing.en, time.en),
      fmt::format("{} , {} {} {} hat , wird {} abreisen .", who.de, pronoun, thing.de, verb.de_participle, time.de)};
}

Text predicate(const Object& subject, const Word& adjective, bool negated) {
  const Text thing = phrase(subject, Case::nominative);
  return {
      fmt::format("{} {}{} {} .", thing.en, subject.plural() ? "are" : "is", negated ? " not" : "", adjective.en),
      fmt::format("{} {}{} {} .", thing.de, subject.plural() ? "sind" : "ist", negated ? " nicht" : "", adjective.de)};
}

Text reservation(int room_number, int num_nights, const Text& time) {
  const Text place = room(room_number), duration = nights(num_nights);
  return {fmt::format("we have reserved {} for {} {} .", place.en, duration.en, time.en),
          fmt::format("wir haben {} {} für {} reserviert .", time.de, place.de, duration.de)};
}

Text question(const Person& person, const Verb& verb, const Object& object, const Text& time) {
  const Text thing = phrase(object, Case::accusative), who = the(person);
  return {fmt::format("did {} {} {} {} ?", who.en, verb.en, thing.en, time.en),
          fmt::format("hat {} {} {} {} ?", who.de, time.de, thing.de, verb.de_participle)};
}

}  // namespace weft::testing::grammar
