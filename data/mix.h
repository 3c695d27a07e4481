// data/mix.h: the corpora of a run, and the mix of them that it trains on.
//
// A mix is given as text: one folder, or folders with weights, "packed/clean:3,packed/crawl:1". A weight is that of the
// corpus's pairs. It is a decimal number from 0.001 to 1000 with at most three decimals; without one it is 1. White
// space around commas does not count. After the last colon of a folder comes a weight unless a slash follows it:
// "packed/v:2/" is a folder. A folder with a comma in its name cannot be named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus.h"

namespace weft {

struct WeightedFolder {
  std::string folder;
  int64_t weight = 1;                   // whole numbers without a common divisor
  std::optional<float> min_score = {};  // of the pairs that are used (data/min_score.h)
  bool operator==(const WeightedFolder&) const = default;
};

// An Error of kind usage names `option` and what is wrong. A text without a comma and a weight is one folder.
std::vector<WeightedFolder> parse_mix(const std::string& option, const std::string& text);
std::string mix_text(const std::vector<WeightedFolder>& folders);

// Reads their manifests. An Error of kind usage if two folders hold the same corpus.
void require_distinct_corpora(const std::vector<WeightedFolder>& folders);

struct Mix {
  struct Part {
    int64_t corpus = 0;  // by number
    int64_t weight = 1;
    std::optional<float> min_score = {};
    bool operator==(const Part&) const = default;
  };
  std::vector<std::string> folders;  // all corpora of the run, by number
  std::vector<Part> parts;
  bool weighted = false;  // blocks hold the weights of their pairs

  static Mix of_folders(const std::vector<WeightedFolder>& folders);  // numbered in this order
  static Mix of_folder(const std::string& folder) { return {{folder}, {Part{}}}; }
  const std::string& folder(const Part& part) const { return folders[static_cast<size_t>(part.corpus)]; }
};

std::vector<Corpus> open_corpora(const Mix& mix);  // of its parts, in their order

// Source rows that fill up together with `target_rows`, from the totals of the corpora; a multiple of 16.
int64_t source_rows_for(const Mix& mix, const std::vector<Corpus>& corpora, int64_t target_rows);

}  // namespace weft
