// data/order/mix.h: the corpora of a run, and the mix of them that it trains on.
//
// A mix is given as text: one folder, or folders with weights, "packed/clean:3,packed/crawl:1". A weight is that of the
// corpus's pairs. It is a decimal number from 0.001 to 1000 with at most three decimals; without one it is 1. White
// space around commas does not count. After the last colon of a folder comes a weight unless a slash follows it:
// "packed/v:2/" is a folder. A folder with a comma in its name cannot be named.
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
  int64_t weight = 1;                   // whole numbers without a common divisor
  std::optional<float> min_score = {};  // of the pairs that are used (data/order/min_score.h)

  // What the text does not say: its number in the run; and, once it is open, its pairs, and those that are used.
  int64_t number = 0;
  std::shared_ptr<Corpus> opened = {};
  int64_t num_pairs = 0, num_usable = 0;

  const Manifest& manifest() const { return opened->manifest(); }
  bool operator==(const MixCorpus&) const = default;
};

// An Error of kind usage names `option` and what is wrong. A text without a comma and a weight is one folder.
std::vector<MixCorpus> parse_mix(const std::string& option, const std::string& text);
std::string mix_text(const std::vector<MixCorpus>& corpora);

// Of open corpora: an Error of kind usage if two of them are the same.
void require_distinct_corpora(const std::vector<MixCorpus>& corpora);

struct Mix {
  std::vector<MixCorpus> corpora;  // open
  bool weighted = false;           // blocks hold the weights of their pairs
};

// Source rows that fill up together with `target_rows`, from the totals of the open corpora; a multiple of 16.
int64_t source_rows_for(const std::vector<MixCorpus>& corpora, int64_t target_rows);

}  // namespace weft
