// trainer/plan/open_data.h: opens the corpora of a run, and refuses those that it cannot use.
//
// An Error names the option and the corpus.
#pragma once

#include <vector>

#include "parallel/communicator.h"
#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"
#include "trainer/validation/validation_sets.h"

namespace weft {

// A folder of several stages is opened once. All corpora need the tokenizer of the first one and at least one pair, and
// none may be twice in a mix.
void open_training_corpora(const RunConfig& config, std::vector<Stage>& stages);
// Sets need the tokenizer of the training data, whose first corpus is given, and one text for each pair.
void open_validation_sets(const RunConfig& config, const MixCorpus& training, std::vector<ValidationSet>& sets);

// The rest needs resolved options of batch.

// Of each corpus some pair that is used must fit a block.
void require_pairs(const RunConfig& config, const std::vector<Stage>& stages);
// A validation scores all pairs of its sets, so they must fit a block.
void require_all_pairs_fit(const std::vector<ValidationSet>& sets, const BatchConfig& batch);
// Share of pairs that are longer than a block, of the corpus's first 65,536, which `weft pack` has shuffled.
double share_too_long(Corpus& corpus, const BatchConfig& batch);
// Tables of learned positions are finite.
void require_positions(const RunConfig& config, const std::vector<Stage>& stages,
                       const std::vector<ValidationSet>& sets);
// Sets MixCorpus::num_usable. The main rank reads the scores and tells the others. All ranks call it.
void count_usable_pairs(std::vector<Stage>& stages, Communicator& world);

}  // namespace weft
