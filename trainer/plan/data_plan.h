// trainer/plan/data_plan.h: describes the data of a run for its plan.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trainer/plan/resolve.h"

namespace weft {

// Rows of the plan, with their names: stages and corpora. With one corpus: that.
std::vector<std::pair<std::string, std::string>> describe_data(const ResolvedRun& run);

// "; about 120 steps an epoch" with one corpus, otherwise nothing: each has its own.
std::string describe_epoch(const ResolvedRun& run);

// Of several sets: what their names stand for.
std::string describe_validation_sets(const std::vector<ValidationSet>& sets);

}  // namespace weft
