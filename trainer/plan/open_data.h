// trainer/plan/open_data.h: opens the corpora of a run, and rejects corpora that the run cannot use.
//
// Errors name the option and the corpus.
#pragma once

#include <vector>

#include "parallel/communicator.h"
#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"
#include "trainer/validation/validation_sets.h"

namespace weft {

// Opens each folder only once, even if several stages use it. Requires that all corpora have the tokenizer of the first
// corpus and at least one pair, and that none occurs twice in a mix.
void open_training_corpora(const RunConfig& config, std::vector<Stage>& stages);
// Opens the sets. Requires that they have the tokenizer of `training`, a training corpus, and one text per pair.
void open_validation_sets(const RunConfig& config, const MixCorpus& training, std::vector<ValidationSet>& sets);

// REQUIRES for the functions below: the batch options are resolved.

// Requires that at least one used pair of each corpus fits a block.
void require_pairs(const RunConfig& config, const std::vector<Stage>& stages);
// Requires that all pairs of validation sets fit a block, because a validation scores all of them.
void require_all_pairs_fit(const std::vector<ValidationSet>& sets, const BatchConfig& batch);
// Returns the share of pairs that do not fit a block, among the first 65,536 pairs of the shuffled corpus.
double share_too_long(Corpus& corpus, const BatchConfig& batch);
// Requires that tables of learned positions are large enough.
void require_positions(const RunConfig& config, const std::vector<Stage>& stages,
                       const std::vector<ValidationSet>& sets);
// Sets MixCorpus::num_usable. The main rank reads the scores and broadcasts the counts. All ranks call it.
void count_usable_pairs(std::vector<Stage>& stages, Communicator& world);

}  // namespace weft
