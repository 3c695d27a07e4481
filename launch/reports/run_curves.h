// launch/reports/run_curves.h: curves of runs as drawings: which numbers, what they are called, their colours.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "trainer/report/log_curves.h"

namespace weft {

struct CurveChoice {
  std::string names;  // of drawable_numbers(), with commas; empty: loss and BLEU, of one run also the validation loss
  CurveAxis axis = CurveAxis::step;
};

struct RunCurves {
  std::string name;                 // of the run
  std::vector<nlohmann::json> log;  // with_scores()
};

// An unknown name is an Error of kind usage that lists those of the logs. Empty text if there is nothing to draw.
std::string draw_run(const RunCurves& run, const CurveChoice& choice);                   // with characters, two curves
std::string runs_to_svg(const std::vector<RunCurves>& runs, const CurveChoice& choice);  // each run in a colour

}  // namespace weft
