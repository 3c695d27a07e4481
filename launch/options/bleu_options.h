// launch/options/bleu_options.h: parses and checks the options of `weft bleu`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/metrics/bleu.h"
#include "trainer/metrics/chrf.h"
#include "trainer/metrics/significance.h"
#include "trainer/metrics/ter.h"

namespace weft {

struct BleuRequest {
  BleuOptions bleu{.tokenizer = BleuTokenizer::automatic};
  ChrfOptions chrf;
  TerOptions ter;
  std::vector<std::string> reference_files, hypothesis_files;
  std::vector<std::string> corpora;       // on which the systems were trained
  std::vector<std::string> metric_lists;  // as on the command line
  std::vector<std::string> metrics;       // bleu, chrf, ter: each at most once, in the given order
  double smooth_value = 0;
  int64_t width = 1, confidence_n = 1000, paired_bs_n = 1000, paired_ar_n = 10000;
  uint64_t seed = Resampling{}.seed;
  bool sentence_level = false, confidence = false, paired_bs = false, paired_ar = false, json = false, quiet = false;
};

bool parse_bleu_options(const std::vector<std::string>& args, BleuRequest& request);  // false: --help was printed

}  // namespace weft
