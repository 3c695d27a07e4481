// trainer/metrics/ter.h: computes the translation edit rate (Snover et al. 2006) as Tercom and sacreBLEU 2 do.
//
// It counts the edits that turn a translation into its reference: words inserted, deleted or replaced, and runs of
// words moved. Edits and lengths add up over segments and ranks. The score depends only on the sums.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct TerOptions {
  bool case_sensitive = false;
  bool normalized = false;     // first replace entities and split punctuation off
  bool no_punct = false;       // remove . , ? : ; ! " ( )
  bool asian_support = false;  // normalized: each ideograph is a word; no_punct: also remove full-width marks
};

struct TerStats {
  int64_t edits = 0;            // for the reference that needs the fewest
  double reference_length = 0;  // words; mean over the references

  TerStats& operator+=(const TerStats& other);
  bool operator==(const TerStats&) const = default;
};

struct TerScore {
  double score = 0;  // 100 edits / reference length; 0 is best, may exceed 100
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
