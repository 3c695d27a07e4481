// trainer/run/resume_report.h: what a run says when it resumes, and where it ends before its data does.
#pragma once

#include <string>
#include <vector>

#include "trainer/trainer.h"

namespace weft {

// Where it resumes, and what has changed since the checkpoint, one line each. On the main rank, after Trainer::load().
std::vector<std::string> describe_resume(const std::string& checkpoint, const RunConfig& config,
                                         const std::string& config_text, const Trainer& trainer,
                                         const TrainState& state);

// Of a run that is finished: names the stages that did not begin; empty if all did.
std::string describe_stages_left(const StageRun& stages, int64_t step);

}  // namespace weft
