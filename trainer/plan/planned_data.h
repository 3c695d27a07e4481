// trainer/plan/planned_data.h: estimates the memory that a rank needs for corpora, validation sets and tokenizers.
#pragma once

#include <cstddef>
#include <vector>

#include "data/loader.h"
#include "trainer/plan/resolve.h"

namespace weft {

struct PlannedData {                              // describes what a run reads
  std::vector<std::vector<PlannedCorpus>> mixes;  // one per stage
  std::vector<Manifest> valid;
  size_t tokenizers = 0;  // bytes of the first validation set's tokenizer files
};

PlannedData planned_data(const ResolvedRun& run);
// Assumes a corpus of a million pairs of news text, and a validation set of `valid_sentences` if the run has
// validations. REQUIRES: the vocabulary sizes of `config` are known.
PlannedData assumed_data(const RunConfig& config, int64_t valid_sentences);

// Returns the bytes in memory. REQUIRES: the batch options and the grid are resolved.
size_t data_bytes(const PlannedData& data, const RunConfig& config);

}  // namespace weft
