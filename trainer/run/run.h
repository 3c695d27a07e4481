// trainer/run/run.h: runs training from a configuration to the last checkpoint.
//
// The run's folder (train.output) contains config.cfg, log.jsonl, tensorboard/, and checkpoints/ with the links
// `latest` and `best`. The same command resumes from the newest intact checkpoint. Results are then bit-identical on
// the same grid, and equal up to rounding on a different grid.
#pragma once

#include "parallel/communicator.h"
#include "parallel/placement/other_programs.h"
#include "trainer/config/run_config.h"

namespace weft {

// `others`, if given, lets the plan and the progress lines tell when other programs use the cores.

// Returns 0 if the run is finished, or 128 + n if signal n stopped it after a save (for example 143 for SIGTERM).
int run_training(const RunConfig& wanted, Communicator& world, OtherPrograms* others = nullptr);

// Prints the plan for the ranks of `world` or, if `world` has only one rank, for the grid that `wanted` gives. Writes
// no files. All ranks call it.
void print_plan(const RunConfig& wanted, Communicator& world, OtherPrograms* others = nullptr);

}  // namespace weft
