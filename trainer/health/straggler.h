// trainer/health/straggler.h: finds slow ranks, for which the other ranks wait in every step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/mesh.h"

namespace weft {

// `busy` contains, for each rank, the seconds that the rank worked in a step.
int slowest_rank(const std::vector<double>& busy);
double waiting_share(const std::vector<double>& busy);  // share of the ranks' time spent waiting for the slowest rank

// Returns how long each rank would have worked if all dp ranks had processed the same number of the step's `blocks`. A
// rank without a block processes an empty block, which counts as one block.
std::vector<double> busy_with_equal_blocks(std::vector<double> busy, int64_t blocks, const ParallelConfig& grid);

// Reports a rank that worked more than kRatio times as long as the median of the other ranks. This must happen in two
// consecutive windows, so one long step is not reported. A window has at least kWindow steps, and lasts until a rank
// has worked for kSeconds, because ranks with tiny models on a shared core are often slow for some tenths of a second.
class StragglerWatch {
 public:
  static constexpr int64_t kWindow = 16, kQuiet = 1000;  // steps
  static constexpr double kRatio = 1.5, kSeconds = 1;

  explicit StragglerWatch(std::vector<std::string> hosts) : hosts_(std::move(hosts)), busy_(hosts_.size()) {}

  // Returns a message or "". After a message, returns "" for kQuiet steps.
  std::string observe(int64_t step, const std::vector<double>& busy);

 private:
  std::vector<std::string> hosts_;  // by rank
  std::vector<double> busy_;        // seconds in this window, by rank
  int64_t steps_ = 0;               // steps in this window
  int suspect_ = -1;                // straggler of the last window; -1: none
  int64_t quiet_until_ = 0;         // there are no messages before this step
};

}  // namespace weft
