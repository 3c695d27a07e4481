// trainer/health/divergence.cpp: compares the most recent losses with the lowest mean so far.
#include "trainer/health/divergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {

Divergence DivergenceRule::observe(DivergenceState& state, int64_t step, double loss, bool lost) const {
  state.not_finite = lost ? state.not_finite + 1 : 0;
  const bool dead = state.not_finite >= kMaxNotFinite;
  std::vector<double>& recent = state.recent;
  recent.push_back(std::isfinite(loss) ? std::min(loss, DivergenceState::kHighest) : DivergenceState::kHighest);
  if (recent.size() > kWindow) recent.erase(recent.begin());
  if (recent.size() == kWindow) {
    const double mean = std::accumulate(recent.begin(), recent.end(), 0.0) / static_cast<double>(kWindow);
    if (mean < state.lowest) state.lowest = mean, state.rollbacks = 0;
    if (mean <= state.lowest + rise_ / 2) state.good_until = step - static_cast<int64_t>(kWindow);
    if (!dead && std::ranges::min(recent) > state.lowest + rise_) return Divergence::loss;
  }
  return dead ? Divergence::not_finite : Divergence::none;
}

void DivergenceRule::begin_data(DivergenceState& state) {
  state.recent.clear();
  state.lowest = DivergenceState::kHighest;
}

void DivergenceRule::note_rollback(DivergenceState& state, int64_t step) {
  state.recent.clear();
  state.good_until = step;
  state.not_finite = 0;
  ++state.rollbacks;
}

}  // namespace weft
