// launch/options/search_options.h: the options of `weft translate` for beam search, samples and ensembles.
#pragma once

#include <string>
#include <vector>

#include "launch/options/options.h"
#include "trainer/inference/search_config.h"

namespace weft {

struct SearchRequest {
  SearchConfig config;
  bool sample = false;
  int64_t samples = 1;
  std::vector<std::string> ensemble;  // checkpoints besides --checkpoint

  void add_to(Options& options);
  // Takes the values of options that were not given from `saved`, the checkpoint's [decode]. Checks all of them.
  void complete(const Options& options, const DecodeConfig& saved);
};

}  // namespace weft
