// trainer/plan/check_options.h: rejects options that are out of range or do not fit together, before any file is read.
#pragma once

#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"
#include "trainer/validation/validation_sets.h"

namespace weft {

// Throws an Error of kind usage that names the options.
void check_options(const RunConfig& config, const std::vector<Stage>& stages, const BestRule& best);

// True if parallel.sequence is off, or parallel.tp divides the rows of blocks. Otherwise require_even_rows() throws.
// REQUIRES: source rows are known.
bool splits_evenly(const RunConfig& config);
void require_even_rows(const RunConfig& config);

void require_gpu_to_tune(const RunConfig& config, Device device);  // train.tune_gemm

}  // namespace weft
