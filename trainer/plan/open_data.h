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

// Opens each folder only once, even if several stages use it. Throws an Error unless each corpus has at least one pair
// and the tokenizer of the first corpus, and no corpus occurs twice in a mix.
void open_training_corpora(const RunConfig& config, std::vector<Stage>& stages);
// Opens the sets. Throws an Error unless each set has the tokenizer of the corpus `training` and one variant per pair.
void open_validation_sets(const RunConfig& config, const MixCorpus& training, std::vector<ValidationSet>& sets);

// All functions below require that the batch options are resolved.

// Throws an Error unless each corpus has a usable pair that fits into a block.
void require_pairs(const RunConfig& config, const std::vector<Stage>& stages);
// Throws an Error unless all validation pairs fit into a block, because a validation scores every pair.
void require_all_pairs_fit(const std::vector<ValidationSet>& sets, const BatchConfig& batch);
// Returns which fraction of the first 65,536 pairs of the shuffled corpus does not fit into a block.
double share_too_long(Corpus& corpus, const BatchConfig& batch);
// Throws an Error if the tables of learned positions are too small for a sentence.
void require_positions(const RunConfig& config, const std::vector<Stage>& stages,
                       const std::vector<ValidationSet>& sets);
// Sets MixCorpus::num_usable. The main rank reads the scores and broadcasts the counts. All ranks must call this.
void count_usable_pairs(std::vector<Stage>& stages, Communicator& world);

}  // namespace weft
