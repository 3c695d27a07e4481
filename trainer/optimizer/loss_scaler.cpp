// trainer/optimizer/loss_scaler.cpp: decides when the scale doubles and when it is halved.
#include "trainer/optimizer/loss_scaler.h"

#include <algorithm>

namespace weft {

void LossScaler::update(bool finite) {
  if (!scales_) return;
  if (!finite)
    state_ = {.value = std::max(state_.value / 2, kFloor)};
  else if (++state_.good_steps == kGrowthInterval)
    state_ = {.value = state_.value * 2};
}

}  // namespace weft
