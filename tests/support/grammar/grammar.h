// tests/support/grammar/grammar.h: the built-in grammar: any number of English sentences with their only correct
// German translation.
//
// A correct Transformer learns it almost completely in a minute, so a wrong mask, a lost gradient or a bad
// reduction limits the score. Sentences are a pure function of (seed, number of pairs), the same on every
// machine.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/grammar/grammar_phrases.h"

namespace weft::testing::grammar {

// Sources are unique. The word combinations of `combinations` occur in no other set, though the words do.
struct Corpus {
  static constexpr size_t kNumTest = 1000, kNumValid = 500, kMaxCombinations = 500;

  std::vector<Text> train, valid, test, combinations;
};

// `num_pairs` pairs in train, valid and test together, in addition to combinations.
Corpus make_corpus(int64_t num_pairs = 20000, uint64_t seed = 1);

// The held-out combinations: all rooms 200 to 249, and one adjective of each thing.
bool held_out_number(int value);
bool held_out_adjective(const Thing& thing, const Word& adjective);

}  // namespace weft::testing::grammar
