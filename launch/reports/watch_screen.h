// launch/reports/watch_screen.h: what `weft watch` shows of a run.
#pragma once

#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/config/run_config.h"
#include "trainer/display/chart.h"

namespace weft {

// What a run's log has said so far.
class WatchedLog {
 public:
  void add(const nlohmann::json& record);  // of log.jsonl
  void clear() { *this = WatchedLog(); }

  ChartSeries loss{.name = "loss"}, bleu{.name = "BLEU"};
  std::deque<nlohmann::json> steps;         // the last few
  std::vector<nlohmann::json> validations;  // all
  double seconds = 0;                       // of all steps
  std::string stage;                        // of the data, at the last step; empty if there are none
  int64_t stage_since = 0;                  // its first step
};

struct WatchedRun {
  std::string name;  // of its folder
  RunConfig config;
  WatchedLog log;
  std::string latest, best;  // checkpoints; empty if there are none
  bool finished = false;
  double silent_seconds = 0;  // since the log changed
};

struct ScreenSize {
  int columns = 80, rows = 24;
};

// At most `rows` lines, none wider than `columns` characters: progress, the last step, stage, loss and BLEU over the
// steps, corpora of a mix, the last validation and the best one, ranks, checkpoints.
std::string watch_screen(const WatchedRun& run, const ScreenSize& size, bool utf8);

}  // namespace weft
