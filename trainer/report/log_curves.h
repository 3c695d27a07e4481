// trainer/report/log_curves.h: the numbers of a run's log as curves over its steps, target tokens or hours.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tensor/enum_names.h"
#include "trainer/display/chart.h"

namespace weft {

enum class CurveAxis : uint8_t { step, tokens, hours };
constexpr EnumNames<CurveAxis, 3> enum_names(CurveAxis) {
  return {{{"step", CurveAxis::step}, {"tokens", CurveAxis::tokens}, {"hours", CurveAxis::hours}}};
}

struct RunPlace {  // how far a run has come, on each axis
  int64_t step = 0;
  double target_tokens = 0, seconds = 0;  // of all steps

  void pass(const nlohmann::json& record);  // the next of the log
  double on(CurveAxis axis) const;
};

// What can be drawn of a step or a validation: its numbers except `step` and `time`; for each corpus of a mix
// corpus_nll.FOLDER and epochs.FOLDER; source_tokens_per_second and target_tokens_per_second.
std::vector<std::pair<std::string, double>> drawable_numbers(const nlohmann::json& record);

std::vector<std::string> drawable_names(const std::vector<nlohmann::json>& log);  // sorted

// Of a log whose scores are in their validations (with_scores).
ChartSeries curve_of(const std::vector<nlohmann::json>& log, const std::string& name, CurveAxis axis);

// Names that tell folders apart: the shortest ends of their paths that differ. An equal path has an equal name.
std::vector<std::string> distinct_names(const std::vector<std::string>& folders);

}  // namespace weft
