// trainer/optimizer/rate_sums.h: computes the weight of each step's z in the mean x of schedule-free steps.
//
// The weight is the square of the highest rate so far, so that steps of the warm-up count less (Defazio et al. 2024,
// section 4.3, and their package). c = weight / (sum of all weights) is the share of the newest z.
#pragma once

#include <algorithm>

namespace weft {

struct RateSums {  // saved in checkpoints
  double highest = 0, squares = 0;

  // Counts a step, and returns its c.
  double add(double lr) {
    highest = std::max(highest, lr);
    squares += highest * highest;
    return squares > 0 ? highest * highest / squares : 0;
  }
  bool operator==(const RateSums&) const = default;
};

}  // namespace weft
