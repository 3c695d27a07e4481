// trainer/plan/check_options.h: rejects options that are out of range or contradictory, before files are read.
#pragma once

#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"
#include "trainer/validation/validation_sets.h"

namespace weft {

// Throws an Error of kind usage that names the options.
void check_options(const RunConfig& config, const std::vector<Stage>& stages, const BestRule& best);

// Returns true if parallel.sequence is off, or parallel.tp divides batch.rows and batch.source_rows. Otherwise,
// require_even_rows() throws. REQUIRES: batch.source_rows is resolved.
bool splits_evenly(const RunConfig& config);
void require_even_rows(const RunConfig& config);

void require_gpu_to_tune(const RunConfig& config, Device device);  // throws for train.tune_gemm on CPUs

}  // namespace weft
