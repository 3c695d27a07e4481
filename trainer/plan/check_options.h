// trainer/plan/check_options.h: refuses options out of range, and those that do not go together, before any file is
// read.
#pragma once

#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"
#include "trainer/validation/validation_sets.h"

namespace weft {

// Each throws an Error of kind usage that names the options.
void check_options(const RunConfig& config, const std::vector<Stage>& stages, const BestRule& best);

// Whether the rows of its blocks can be split over tp, if parallel.sequence asks for it; an Error if they cannot.
// Source rows are known.
bool splits_evenly(const RunConfig& config);
void require_even_rows(const RunConfig& config);

void require_gpu_to_tune(const RunConfig& config, Device device);  // train.tune_gemm

}  // namespace weft
