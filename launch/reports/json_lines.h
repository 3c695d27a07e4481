// launch/reports/json_lines.h: writes the lines of `weft translate --json` and `weft score --json`.
//
// docs/decoding.md specifies the fields. A line is valid JSON and valid UTF-8, whatever the tokens are: a token is
// written as its piece in the vocabulary, so that a byte piece is text such as "<0xE2>".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/inference/alignment.h"
#include "trainer/inference/evaluate.h"
#include "trainer/inference/translator.h"

namespace weft {

std::vector<std::string> pieces_of(const std::vector<int32_t>& ids, const Tokenizer& tokenizer);

// Escapes the line breaks U+0085, U+2028 and U+2029 of a JSON text, because some readers take them for line ends.
std::string on_one_line(const std::string& json);

struct TranslatedLine {
  int64_t index = 0;  // from 0
  const TranslationInput& input;
  const NBest& nbest;
  const std::vector<AlignmentLink>* alignment = nullptr;  // of the best translation; null: not printed
};
std::string translation_line(const TranslatedLine& line, const Translator& translator);

struct ScoredText {
  const PairScore* score;              // nullptr: the pair is too long
  const std::vector<int32_t>& target;  // the given tokens and the scored ones, without eos
  const Tokenizer& tokenizer;
};
// With `reverse`, the score of the source given the target, the line contains both scores and the adequacy.
std::string score_line(int64_t index, const ScoredText& scored, const ScoredText* reverse = nullptr);

}  // namespace weft
