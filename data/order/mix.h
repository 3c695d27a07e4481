// data/order/mix.h: the corpora of a run, and the mix of them that it trains on.
//
// A mix is given as text: one folder, or folders with weights, "packed/clean:3,packed/crawl:1". A weight applies to the
// pairs of the corpus. It is a decimal number from 0.001 to 1000 with at most three decimals; without one it is 1.
// White space around commas is ignored. The last colon of a folder precedes a weight unless a slash follows it:
// "packed/v:2/" is a folder. A folder with a comma in its name cannot be used.
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
  std::optional<float> min_score = {};  // pairs below it are not used (data/order/min_score.h)

  // Not in the text: number in the run and, once the corpus is open, numbers of pairs and usable pairs.
  int64_t number = 0;
  std::shared_ptr<Corpus> opened = {};
  int64_t num_pairs = 0, num_usable = 0;

  const Manifest& manifest() const { return opened->manifest(); }
  bool operator==(const MixCorpus&) const = default;
};

// Throws a usage Error that names `option` and what is wrong. A text without a comma or a weight is one folder.
std::vector<MixCorpus> parse_mix(const std::string& option, const std::string& text);
std::string mix_text(const std::vector<MixCorpus>& corpora);

// Throws a usage Error if two of the corpora are the same. REQUIRES: they are open.
void require_distinct_corpora(const std::vector<MixCorpus>& corpora);

struct Mix {
  std::vector<MixCorpus> corpora;
  bool weighted = false;  // blocks hold the weights of their pairs
};

// Returns how many source rows (a multiple of 16) fill up as fast as `target_rows`, by the open corpora's totals.
int64_t source_rows_for(const std::vector<MixCorpus>& corpora, int64_t target_rows);

}  // namespace weft
