// trainer/health/divergence.h: decides after each step whether a run has diverged. All ranks decide the same.
//
// Let m be the lowest mean loss of kWindow consecutive steps, and r = train.divergence_rise. The run has diverged
//   - if each of the last kWindow losses is above m + r (with noise and spikes, at least one loss stays below), or
//   - if the last kMaxNotFinite steps had gradients that are not finite, and a lower loss scale could not help.
// A checkpoint is known to be good once the kWindow losses after it have a mean of at most m + r / 2. Losses are per
// target token and without label smoothing, so they are comparable between batches and settings, but not between
// datasets. When the mix changes, the rule starts from scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

struct DivergenceState {  // saved in checkpoints
  static constexpr double kHighest = 1e30;

  std::vector<double> recent;  // the last (at most kWindow) losses, oldest first; each at most kHighest
  double lowest = kHighest;    // m
  int64_t good_until = 0;      // checkpoints up to this step are known to be good
  int64_t not_finite = 0;      // consecutive steps with gradients that are not finite
  int64_t rollbacks = 0;       // rollbacks since m last fell
  bool operator==(const DivergenceState&) const = default;
};

enum class Divergence : uint8_t { none, loss, not_finite };

class DivergenceRule {
 public:
  static constexpr size_t kWindow = 20;
  static constexpr int64_t kMaxNotFinite = 5, kMaxRollbacks = 3;

  explicit DivergenceRule(double rise) : rise_(rise) {}

  // `loss` is the loss of `step` (from 1). `lost`: gradients were not finite, and a lower loss scale cannot help.
  Divergence observe(DivergenceState& state, int64_t step, double loss, bool lost) const;

  // Call it before the first step on other data, whose losses are not comparable with earlier ones.
  static void begin_data(DivergenceState& state);

  // Call it after good parameters have been restored, which makes a checkpoint of this step a good one.
  static void note_rollback(DivergenceState& state, int64_t step);

 private:
  double rise_;
};

}  // namespace weft
