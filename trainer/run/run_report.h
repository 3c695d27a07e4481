// trainer/run/run_report.h: describes how a run resumes, enters its next stage and ends.
#pragma once

#include <string>
#include <vector>

#include "trainer/plan/prepare_run.h"
#include "trainer/run/run_end.h"
#include "trainer/stages/stage_run.h"
#include "trainer/train_state.h"

namespace weft {

// Returns lines that describe where the run resumes and what has changed since the checkpoint, including `changes` of
// the stages. Call it on the main rank. REQUIRES: `state` and `stages` were loaded from the checkpoint.
std::vector<std::string> describe_resume(const PreparedRun& run, const StageRun& stages,
                                         const std::vector<std::string>& changes, const TrainState& state);

// Returns text such as "stage 3 of 4, clean, cannot start", where `what` is "cannot start".
std::string describe_next_stage(const StageRun& stages, const std::string& what);

// Describes why the run has ended, and lists the stages that did not start.
std::string describe_end(RunEnd end, const RunConfig& config, const StageRun& stages, int64_t step);
// Returns the command to run next, and how many pairs were too long for a block.
std::string describe_next_step(const std::string& output, int64_t dropped);
std::string describe_nothing_left(RunEnd end, const RunConfig& config, int64_t step);  // of a resumed run

}  // namespace weft
