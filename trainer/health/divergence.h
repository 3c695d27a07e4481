// trainer/health/divergence.h: decides after each step whether a run has diverged, with the same result on all ranks.
//
// Let m be the lowest mean loss of any kWindow consecutive steps so far, and r = train.divergence_rise. A run diverges
//   - if all of the last kWindow losses are above m + r (noise and spikes leave at least one loss below m + r), or
//   - if the gradients of the last kMaxNotFinite steps were not finite although the loss scale was at its minimum.
// A checkpoint is known to be good once the mean of the kWindow losses after it is at most m + r / 2. Losses are per
// target token and without label smoothing, so they are comparable between batches and settings. Losses of different
// datasets are not comparable, so the rule starts from scratch when the mix changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

struct DivergenceState {  // saved in checkpoints
  static constexpr double kHighest = 1e30;

  std::vector<double> recent;  // the last losses, at most kWindow, oldest first; each is capped at kHighest
  double lowest = kHighest;    // m
  int64_t good_until = 0;      // checkpoints up to this step are known to be good
  int64_t not_finite = 0;      // consecutive steps with gradients that are not finite
  int64_t rollbacks = 0;       // rollbacks since the last decrease of m
  bool operator==(const DivergenceState&) const = default;
};

enum class Divergence : uint8_t { none, loss, not_finite };

class DivergenceRule {
 public:
  static constexpr size_t kWindow = 20;
  static constexpr int64_t kMaxNotFinite = 5, kMaxRollbacks = 3;

  explicit DivergenceRule(double rise) : rise_(rise) {}

  // `loss` is the loss of `step`, counted from 1. `lost`: gradients were not finite at the minimum loss scale.
  Divergence observe(DivergenceState& state, int64_t step, double loss, bool lost) const;

  // Call this before the first step on different data, because its losses are not comparable with earlier losses.
  static void begin_data(DivergenceState& state);

  // Call this after a rollback to the good parameters of `step`. A checkpoint of `step` then counts as good.
  static void note_rollback(DivergenceState& state, int64_t step);

 private:
  double rise_;
};

}  // namespace weft
