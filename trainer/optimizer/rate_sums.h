// trainer/optimizer/rate_sums.h: computes the weight of each step in the mean of schedule-free training.
//
// A step's weight is the square of the highest learning rate so far, so that warm-up steps count less (Defazio et al.
// 2024, section 4.3, and their package). The newest iterate z has the share c = weight / (sum of all weights).
#pragma once

#include <algorithm>

namespace weft {

struct RateSums {  // saved in checkpoints
  double highest = 0, squares = 0;

  // Adds a step with the learning rate `lr`, and returns c of this step.
  double add(double lr) {
    highest = std::max(highest, lr);
    squares += highest * highest;
    return squares > 0 ? highest * highest / squares : 0;
  }
  bool operator==(const RateSums&) const = default;
};

}  // namespace weft
