// launch/reports/watch_screen.h: formats the screen of `weft watch`.
#pragma once

#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/config/run_config.h"
#include "trainer/display/chart.h"

namespace weft {

// Collects the records of a run's log.
class WatchedLog {
 public:
  void add(const nlohmann::json& record);  // adds a record of log.jsonl
  void clear() { *this = WatchedLog(); }

  ChartSeries loss{.name = "loss"}, bleu{.name = "BLEU"};
  std::deque<nlohmann::json> steps;         // records of the last few steps
  std::vector<nlohmann::json> validations;  // records of all validations
  double seconds = 0;                       // sum over all steps
  std::string stage;                        // data stage of the last step; empty if there are none
  int64_t stage_since = 0;                  // first step of the stage
};

struct WatchedRun {
  std::string name;  // name of the run's folder
  RunConfig config;
  WatchedLog log;
  std::string latest, best;  // checkpoints; empty if there are none
  bool finished = false;
  double silent_seconds = 0;  // time since the log changed
};

struct ScreenSize {
  int columns = 80, rows = 24;
};

// Returns at most `rows` lines of at most `columns` characters: progress, the last step, stage, a chart of loss and
// BLEU, corpora of a mix, the last and the best validation, ranks, checkpoints.
std::string watch_screen(const WatchedRun& run, const ScreenSize& size, bool utf8);

}  // namespace weft
