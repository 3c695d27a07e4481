// data/order/mix.h: describes the mix of corpora that a run trains on.
//
// A mix is given as text: one folder, or folders with weights, "packed/clean:3,packed/crawl:1". The weights are the
// ratio in which the corpora yield pairs. A weight is a number from 0.001 to 1000 with at most three decimals, and 1 if
// it is missing. White space around commas is ignored. A weight follows the last colon, unless a slash follows this
// colon: "packed/v:2/" is a folder. A folder whose name contains a comma cannot be used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus.h"

namespace weft {

struct MixCorpus {  // a corpus of a mix
  std::string folder;
  int64_t weight = 1;                   // a whole number; the mix's weights have no common divisor
  std::optional<float> min_score = {};  // pairs with a lower score are not used (min_score.h)

  // The text does not contain the corpus's number, nor the numbers of its pairs, which are set once it is open.
  int64_t number = 0;
  std::shared_ptr<Corpus> opened = {};
  int64_t num_pairs = 0, num_usable = 0;

  const Manifest& manifest() const { return opened->manifest(); }
  bool operator==(const MixCorpus&) const = default;
};

// Parses the text of a mix. Throws a usage Error that names `option` and what is wrong.
std::vector<MixCorpus> parse_mix(const std::string& option, const std::string& text);
std::string mix_text(const std::vector<MixCorpus>& corpora);

// Throws a usage Error if two of the corpora are the same. REQUIRES: the corpora are open.
void require_distinct_corpora(const std::vector<MixCorpus>& corpora);

struct Mix {
  std::vector<MixCorpus> corpora;
  bool weighted = false;  // true if blocks contain the weights of their pairs
};

// Returns how many source rows, a multiple of 16, fill up as fast as `target_rows`. REQUIRES: corpora are open.
int64_t source_rows_for(const std::vector<MixCorpus>& corpora, int64_t target_rows);

}  // namespace weft
