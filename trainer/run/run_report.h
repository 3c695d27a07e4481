// trainer/run/run_report.h: what a run says when it resumes, of the stage that comes, and when it ends.
#pragma once

#include <string>
#include <vector>

#include "trainer/trainer.h"

namespace weft {

// Where it resumes, and what has changed since the checkpoint, one line each. On the main rank, after Trainer::load().
std::vector<std::string> describe_resume(const std::string& checkpoint, const RunConfig& config,
                                         const std::string& config_text, const Trainer& trainer,
                                         const TrainState& state);

// "stage 3 of 4, clean, cannot begin".
std::string describe_next_stage(const StageRun& stages, const std::string& what);

// Of a run that is finished, and the stages that did not begin. Of one that resumes without anything left to do.
std::string describe_end(const RunConfig& config, const Trainer& trainer, int64_t step, bool out_of_patience);
std::string describe_nothing_left(const RunConfig& config, const Trainer& trainer, int64_t step, bool out_of_patience);

}  // namespace weft
