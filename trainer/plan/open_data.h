// trainer/plan/open_data.h: opens the corpora of a run, and rejects those that it cannot use.
//
// Errors name the option and the corpus.
#pragma once

#include <vector>

#include "parallel/communicator.h"
#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"
#include "trainer/validation/validation_sets.h"

namespace weft {

// Opens a folder of several stages only once. All corpora need the tokenizer of the first one and at least one pair,
// and none may occur twice in a mix.
void open_training_corpora(const RunConfig& config, std::vector<Stage>& stages);
// Opens sets, which need the tokenizer of the training data, whose first corpus is given, and one text per pair.
void open_validation_sets(const RunConfig& config, const MixCorpus& training, std::vector<ValidationSet>& sets);

// The functions below need resolved options of batch.

// Requires of each corpus that some pair that is used fits a block.
void require_pairs(const RunConfig& config, const std::vector<Stage>& stages);
// Requires that all pairs of validation sets fit a block, because a validation scores all of them.
void require_all_pairs_fit(const std::vector<ValidationSet>& sets, const BatchConfig& batch);
// Returns the share of pairs that do not fit a block, among the first 65,536 of the corpus, which pack has shuffled.
double share_too_long(Corpus& corpus, const BatchConfig& batch);
// Requires that tables of learned positions are large enough.
void require_positions(const RunConfig& config, const std::vector<Stage>& stages,
                       const std::vector<ValidationSet>& sets);
// Sets MixCorpus::num_usable. The main rank reads the scores and broadcasts the counts. All ranks call it.
void count_usable_pairs(std::vector<Stage>& stages, Communicator& world);

}  // namespace weft
