// tests/data/audit/grammar_text.h: pairs of the built-in grammar as text to audit.
#pragma once

#include <vector>

#include "data/packing/pair_text.h"
#include "tests/support/grammar/grammar.h"

namespace weft::testing {

inline std::vector<TextPair> grammar_pairs(int64_t count, uint64_t seed) {
  constexpr int64_t kHeldOut = grammar::Corpus::kNumTest + grammar::Corpus::kNumValid;
  std::vector<TextPair> pairs;
  for (const grammar::Text& text : grammar::make_corpus(count + kHeldOut, seed).train)
    if (std::ssize(pairs) < count) pairs.push_back({text.en, text.de});
  return pairs;
}

}  // namespace weft::testing
