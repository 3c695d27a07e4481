// trainer/metrics/chrf.h: computes corpus chrF and chrF++ (Popovic 2015, 2017) as sacreBLEU 2 does, to the last digit.
//
// The score depends only on counts of character n-grams (without white space) and, for chrF++, word n-grams. The counts
// can be added up over segments and ranks. All functions are pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct ChrfOptions {
  static constexpr int kCharOrder = 6;
  static constexpr int kMaxWordOrder = 2;
  static constexpr int kBeta = 2;  // recall counts beta times as much as precision
  int word_order = 0;              // 2: chrF++
  bool lower_case = false;
};

struct ChrfStats {
  struct Order {
    int64_t hypothesis = 0;  // number of n-grams; 0 if the reference is too short for this order
    int64_t reference = 0;
    int64_t matches = 0;
    bool operator==(const Order&) const = default;
  };
  std::array<Order, ChrfOptions::kCharOrder + ChrfOptions::kMaxWordOrder> orders{};  // character orders first

  ChrfStats& operator+=(const ChrfStats& other);
  bool operator==(const ChrfStats&) const = default;
};

struct ChrfScore {
  double score = 0;       // 0 to 100
  std::string name;       // chrF2, chrF2++
  std::string signature;  // lists everything that affects the score
};

ChrfStats chrf_stats(std::string_view hypothesis, const std::vector<std::string_view>& references,
                     const ChrfOptions& options = {});
ChrfScore chrf_from_stats(const ChrfStats& stats, int num_references, const ChrfOptions& options = {});

// references[r][i] is the r-th reference of segment i (trainer/metrics/references.h).
ChrfScore chrf(const std::vector<std::string>& hypotheses, const std::vector<std::vector<std::string>>& references,
               const ChrfOptions& options = {});

std::string format(const ChrfScore& score, int num_digits = 1);  // "chrF2|nrefs:1|... = 55.2"

}  // namespace weft
