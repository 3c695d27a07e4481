// trainer/plan/data_plan.h: checks the corpora that a run trains on, and describes its stages for the plan.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/shards/manifest.h"
#include "parallel/communicator.h"
#include "trainer/config/run_config.h"

namespace weft {

// Of a folder that `option` names, whose whole value is `text`. An Error names the option; of a folder that is not
// there it says how to write names that would be read as several, or with a weight.
Manifest manifest_of(const std::string& option, const std::string& text, const std::string& folder);

// All corpora need the tokenizer of the first one, and none may be twice in a mix. An Error names the option, and the
// corpus that is missing, has no pairs or has another tokenizer.
void require_fit_corpora(const RunConfig& config);

// batch.source_rows is known: of each corpus some pair that has the least score must fit a block.
void require_pairs(const RunConfig& config);

// The main rank counts the pairs that have the least scores (data/min_score.h) and tells the others, so that not each
// of them reads all scores. All ranks call it.
void share_num_passing(const RunConfig& config, Communicator& world);

// Of the first stage: its corpora fill both sides of its blocks.
int64_t source_rows_of_data(const RunConfig& config);

// Rows of the plan, with their names: stages and corpora. With one corpus: that.
std::vector<std::pair<std::string, std::string>> describe_data(const RunConfig& config);

// "; about 120 steps an epoch" with one corpus, otherwise nothing: each has its own.
std::string describe_epoch(const RunConfig& config);

}  // namespace weft
