// trainer/metrics/ter.h: computes the translation edit rate (Snover et al. 2006) as Tercom and sacreBLEU 2 do.
//
// The rate counts the edits that turn a translation into its reference: inserting, deleting or replacing a word, and
// moving a run of words. The score depends only on sums of edits and lengths, which can be added up over segments and
// ranks. All functions are pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct TerOptions {
  bool case_sensitive = false;
  bool normalized = false;     // first decode HTML entities and split off punctuation
  bool no_punct = false;       // remove . , ? : ; ! " ( )
  bool asian_support = false;  // normalized: each ideograph is a word; no_punct: remove full-width punctuation
};

struct TerStats {
  int64_t edits = 0;            // for the reference that needs the fewest edits
  double reference_length = 0;  // words; mean over the references

  TerStats& operator+=(const TerStats& other);
  bool operator==(const TerStats&) const = default;
};

struct TerScore {
  double score = 0;  // 100 * edits / reference length; 0 is best; can exceed 100
  TerStats stats;
  std::string signature;  // lists everything that affects the score
};

TerStats ter_stats(std::string_view hypothesis, const std::vector<std::string_view>& references,
                   const TerOptions& options = {});
TerScore ter_from_stats(const TerStats& stats, int num_references, const TerOptions& options = {});

// references[r][i] is the r-th reference of segment i (trainer/metrics/references.h).
TerScore ter(const std::vector<std::string>& hypotheses, const std::vector<std::vector<std::string>>& references,
             const TerOptions& options = {});

std::string format(const TerScore& score, int num_digits = 1);  // "TER|nrefs:1|... = 49.9"

}  // namespace weft
