// tests/support/grammar/grammar_sentences.h: the seven sentence types of the built-in grammar.
//
// A word-by-word translation of each would be wrong in order, agreement or both.
#pragma once

#include "tests/support/grammar/grammar_phrases.h"

namespace weft::testing::grammar {

Text request(const Object& object, int room_number);
// Time before object, infinitive last.
Text modal(const Word& modal_verb, const Verb& verb, const Object& object, const Text& time);
// Subordinate clause, verb last.
Text report(const Word& introduction, const Person& person, const Verb& verb, const Object& object);
// The relative pronoun agrees with the person.
Text relative(const Person& person, const Verb& verb, const Object& object, const Text& time);
// The predicate's adjective does not change.
Text predicate(const Object& subject, const Word& adjective, bool negated);
Text reservation(int room_number, int num_nights, const Text& time);
Text question(const Person& person, const Verb& verb, const Object& object, const Text& time);

}  // namespace weft::testing::grammar
