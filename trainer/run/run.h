// trainer/run/run.h: runs training from a configuration to the last checkpoint.
//
// The run's folder (train.output) contains config.cfg, log.jsonl, tensorboard/, and checkpoints/ with the links
// `latest` and `best`. The same command resumes from the newest intact checkpoint: bit for bit on the same grid, up to
// rounding on a different grid.
#pragma once

#include "parallel/communicator.h"
#include "trainer/config/run_config.h"

namespace weft {

// Returns the exit status: 0 done, 143 or 130 after a signal and a save.
int run_training(const RunConfig& wanted, Communicator& world);

// Prints the plan for the ranks of `world` or, if there is only one, for the grid that `wanted` names. Writes no files.
// All ranks call it.
void print_plan(const RunConfig& wanted, Communicator& world);

}  // namespace weft
