// trainer/optimizer/loss_scaler.h: scales the loss dynamically for f16 (Micikevicius et al. 2018, section 3.2).
//
// f16 has no numbers below 6e-8, and gradients are often smaller. The loss, and thus every gradient, is multiplied by a
// scale s before the backward pass. The gradients' norm and Adam divide by it again. s is a power of two, so scaling
// itself rounds nothing. bf16 and f32 have the range that gradients need, so their s is always 1.
//   a step that is not finite:         s = max(s / 2, 1), and no rank takes the step
//   2,000 finite steps since the last change:  s = 2 s
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace weft {

struct LossScale {  // saved in checkpoints
  double value = 1;
  int64_t good_steps = 0;  // since the value changed
  bool operator==(const LossScale&) const = default;
};

class LossScaler {
 public:
  static constexpr double kInitial = 65536, kFloor = 1;
  static constexpr int64_t kGrowthInterval = 2000;

  explicit LossScaler(DType storage) : scales_(storage == DType::f16), state_{.value = scales_ ? kInitial : kFloor} {}

  // True if a non-finite step lowers this scale, which means that f16 is still searching for its scale.
  static bool can_lower(double scale) { return scale > kFloor; }

  double scale() const { return state_.value; }  // for the current step
  void update(bool finite);                      // after a step; `finite` is the same on every rank
  const LossScale& state() const { return state_; }
  void restore(const LossScale& state) { state_ = state; }

 private:
  bool scales_;
  LossScale state_;
};

}  // namespace weft
