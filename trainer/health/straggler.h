// trainer/health/straggler.h: finds slow ranks, for which the other ranks wait in every step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/mesh.h"

namespace weft {

// `busy` contains the seconds worked by each rank in a step.
int slowest_rank(const std::vector<double>& busy);
double waiting_share(const std::vector<double>& busy);  // share of the ranks' time spent waiting for the slowest rank

// Returns how long each rank would have worked with the mean number of `blocks` per rank. A rank without a block works
// on an empty block.
std::vector<double> busy_with_equal_blocks(std::vector<double> busy, int64_t blocks, const ParallelConfig& grid);

// Reports a rank that worked more than kRatio times as long as the median of the other ranks in two consecutive
// windows, so one long step is not enough. A window has at least kWindow steps, and lasts until a rank has worked for
// kSeconds, because a rank that trains a tiny model on a shared core is often slow for some tenths of a second.
class StragglerWatch {
 public:
  static constexpr int64_t kWindow = 16, kQuiet = 1000;  // steps
  static constexpr double kRatio = 1.5, kSeconds = 1;

  explicit StragglerWatch(std::vector<std::string> hosts) : hosts_(std::move(hosts)), busy_(hosts_.size()) {}

  // Returns a message or "". After a message, it returns "" for kQuiet steps.
  std::string observe(int64_t step, const std::vector<double>& busy);

 private:
  std::vector<std::string> hosts_;  // by rank
  std::vector<double> busy_;        // seconds in this window, by rank
  int64_t steps_ = 0;               // in this window
  int suspect_ = -1;                // the straggler of the last window, if there was one
  int64_t quiet_until_ = 0;         // step
};

}  // namespace weft
