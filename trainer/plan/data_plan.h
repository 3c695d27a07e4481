// trainer/plan/data_plan.h: describes the data of a run for the plan of the run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trainer/plan/resolve.h"

namespace weft {

// Returns the names and texts of the plan's rows about data: stages with their corpora, or the only corpus.
std::vector<std::pair<std::string, std::string>> describe_data(const ResolvedRun& run);

// Returns "; about 120 steps per epoch" if there is one corpus, otherwise "", because each corpus has its own epochs.
std::string describe_epoch(const ResolvedRun& run);

// Returns the folder, noise and number of pairs of each named set.
std::string describe_validation_sets(const std::vector<ValidationSet>& sets);

// Returns a warning for each corpus of the first stage and of validation that has more than 0.1 % unknown tokens on a
// side, among its first 1,000 pairs.
std::vector<std::string> describe_unknown_tokens(const ResolvedRun& run);

}  // namespace weft
