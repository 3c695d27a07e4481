// trainer/health/straggler.cpp: compares the ranks' working times.
#include "trainer/health/straggler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "data/order/step_plan.h"

namespace weft {
namespace {

// Returns the time that `rank` worked, divided by the median time of the other ranks.
double ratio_to_others(std::vector<double> busy, int rank) {
  const double own = busy[static_cast<size_t>(rank)];
  busy.erase(busy.begin() + rank);
  const auto middle = busy.begin() + static_cast<ptrdiff_t>(busy.size() / 2);
  std::nth_element(busy.begin(), middle, busy.end());
  return own / *middle;
}

}  // namespace

int slowest_rank(const std::vector<double>& busy) {
  return static_cast<int>(std::ranges::max_element(busy) - busy.begin());
}

double waiting_share(const std::vector<double>& busy) {
  const double longest = std::ranges::max(busy);
  return 1 - std::accumulate(busy.begin(), busy.end(), 0.0) / (longest * static_cast<double>(busy.size()));
}

std::vector<double> busy_with_equal_blocks(std::vector<double> busy, int64_t blocks, const ParallelConfig& grid) {
  const double mean = static_cast<double>(blocks) / static_cast<double>(grid.dp);
  for (size_t rank = 0; rank < busy.size(); ++rank) {
    const int dp_rank = static_cast<int>(rank) / static_cast<int>(grid.tp);
    const int64_t own = blocks_of_rank(blocks, dp_rank, static_cast<int>(grid.dp)).count;
    busy[rank] *= std::max(mean, 1.0) / static_cast<double>(std::max<int64_t>(own, 1));
  }
  return busy;
}

std::string StragglerWatch::observe(int64_t step, const std::vector<double>& busy) {
  for (size_t i = 0; i < busy.size(); ++i) busy_[i] += busy[i];
  const int rank = slowest_rank(busy_);
  if (++steps_ < kWindow || busy_[static_cast<size_t>(rank)] < kSeconds) return "";
  const double ratio = ratio_to_others(busy_, rank), share = waiting_share(busy_);
  const int before = suspect_;
  suspect_ = ratio > kRatio ? rank : -1;
  const int64_t steps = std::exchange(steps_, 0);
  std::ranges::fill(busy_, 0);
  if (suspect_ < 0 || suspect_ != before || step < quiet_until_) return "";
  quiet_until_ = step + kQuiet;
  return fmt::format(
      "step {}: rank {} on {} is slow: in the last {} steps it worked {:.1f} times as long as the median of the other "
      "ranks, so {:.0f} % of all ranks' time was spent waiting",
      step, rank, hosts_[static_cast<size_t>(rank)], steps, ratio, 100 * share);
}

}  // namespace weft
