// trainer/run/run_report.h: what a run says when it resumes, of the stage that comes, and when it ends.
#pragma once

#include <string>
#include <vector>

#include "trainer/plan/prepare_run.h"
#include "trainer/run/run_end.h"
#include "trainer/stages/stage_run.h"
#include "trainer/train_state.h"

namespace weft {

// Where it resumes, and what has changed since the checkpoint, one line each; `changes`: of the stages. On the main
// rank, once `state` and `stages` are those of the checkpoint.
std::vector<std::string> describe_resume(const PreparedRun& run, const StageRun& stages,
                                         const std::vector<std::string>& changes, const TrainState& state);

// "stage 3 of 4, clean, cannot begin".
std::string describe_next_stage(const StageRun& stages, const std::string& what);

// Of a run that is finished, and the stages that did not begin. Of one that resumes without anything left to do.
std::string describe_end(RunEnd end, const RunConfig& config, const StageRun& stages, int64_t step);
// The command to go on with, and how many pairs were too long for a block.
std::string describe_next_step(const std::string& output, int64_t dropped);
std::string describe_nothing_left(RunEnd end, const RunConfig& config, int64_t step);

}  // namespace weft
