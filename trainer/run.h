// trainer/run.h: a training run from its configuration to its last checkpoint.
//
// The run's folder (train.output): config.cfg, log.jsonl, checkpoints/ with `latest` and `best`. The same command
// again goes on from the newest whole checkpoint: on the same grid bit for bit, on another grid to rounding.
#pragma once

#include <functional>
#include <string>

#include "parallel/communicator.h"
#include "trainer/run_config.h"

namespace weft {

// `to_text` writes a configuration as the text of a .cfg file. Returns the exit status: 0 done, 143 or 130 after a
// signal and a save.
int run_training(const RunConfig& wanted, Communicator& world,
                 const std::function<std::string(const RunConfig&)>& to_text);

// Prints the plan for the ranks of `world` or, if it is one, for the grid that `wanted` names; makes nothing. All ranks
// call it.
void print_plan(const RunConfig& wanted, Communicator& world);

}  // namespace weft
