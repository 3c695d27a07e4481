// trainer/report/log_curves.h: turns the numbers of a run's log into curves over its steps, target tokens or hours.
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

struct RunPlace {  // progress of a run on each axis
  int64_t step = 0;
  double target_tokens = 0, seconds = 0;  // sums over the steps so far

  void pass(const nlohmann::json& record);  // adds the next record of the log
  double on(CurveAxis axis) const;
};

// Returns the drawable numbers of a step or a validation: all except `step` and `time`, with corpus_nll.FOLDER and
// epochs.FOLDER for each corpus of a mix, and source_tokens_per_second and target_tokens_per_second.
std::vector<std::pair<std::string, double>> drawable_numbers(const nlohmann::json& record);

class LogCurves {  // collects curves of a log in bounded memory (ChartSeries::add)
 public:
  LogCurves(const std::vector<std::string>& names, CurveAxis axis);  // names of drawable numbers

  void add(const nlohmann::json& record);                         // adds the next record of for_each_scored_record()
  std::vector<ChartSeries> take() { return std::move(series_); }  // a series per name, in their order

 private:
  CurveAxis axis_;
  RunPlace place_;
  std::vector<ChartSeries> series_;
};

// Returns the shortest path suffixes that distinguish the folders. Equal paths get equal names.
std::vector<std::string> distinct_names(const std::vector<std::string>& folders);

}  // namespace weft
