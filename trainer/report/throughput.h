// trainer/report/throughput.h: computes tokens and FLOPs per second since the start, and the remaining time.
#pragma once

#include <cstdint>

namespace weft {

class ThroughputMeter {
 public:
  // Adds a step with the real tokens (without padding) and the model FLOPs of all ranks.
  void add(double seconds, int64_t source_tokens, int64_t target_tokens, double flops) {
    seconds_ += seconds, ++steps_;
    flops_ += flops;
    source_ += static_cast<double>(source_tokens), target_ += static_cast<double>(target_tokens);
  }
  double source_tokens_per_second() const { return source_ / seconds_; }
  double target_tokens_per_second() const { return target_ / seconds_; }
  double flops_per_second() const { return flops_ / seconds_; }
  double seconds_for(int64_t steps) const {
    return static_cast<double>(steps) * seconds_ / static_cast<double>(steps_);
  }

 private:
  double seconds_ = 0, source_ = 0, target_ = 0, flops_ = 0;
  int64_t steps_ = 0;
};

}  // namespace weft
