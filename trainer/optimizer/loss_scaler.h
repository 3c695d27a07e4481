// trainer/optimizer/loss_scaler.h: scales the loss dynamically for f16 (Micikevicius et al. 2018, section 3.2).
//
// f16 has no positive numbers below 6e-8, and gradients are often smaller. Therefore the loss, and thus every gradient,
// is multiplied by a scale s before the backward pass. The gradient norm and the update divide by s again. s is a power
// of two, so scaling causes no rounding errors. bf16 and f32 have enough range for gradients, so their s is always 1.
//   after a step with gradients that are not finite:  s = max(s / 2, 1), and no rank updates its weights
//   after 2,000 finite steps since the last change:   s = 2 s
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace weft {

struct LossScale {  // saved in checkpoints
  double value = 1;
  int64_t good_steps = 0;  // finite steps since `value` last changed
  bool operator==(const LossScale&) const = default;
};

class LossScaler {
 public:
  static constexpr double kInitial = 65536, kFloor = 1;
  static constexpr int64_t kGrowthInterval = 2000;

  explicit LossScaler(DType storage) : scales_(storage == DType::f16), state_{.value = scales_ ? kInitial : kFloor} {}

  // Returns whether a non-finite step lowers this scale. If so, f16 is still searching for a suitable scale.
  static bool can_lower(double scale) { return scale > kFloor; }

  double scale() const { return state_.value; }  // for the current step
  void update(bool finite);                      // call this after each step, with the same `finite` on every rank
  const LossScale& state() const { return state_; }
  void restore(const LossScale& state) { state_ = state; }

 private:
  bool scales_;
  LossScale state_;
};

}  // namespace weft
