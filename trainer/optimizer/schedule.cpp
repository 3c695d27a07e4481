// trainer/optimizer/schedule.cpp: warm-up, then one of four decays.
#include "trainer/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft {

double learning_rate(const ScheduleConfig& s, int64_t step, int64_t total_steps) {
  const double n = static_cast<double>(step + 1), warmup = static_cast<double>(std::max<int64_t>(s.warmup, 1));
  if (n < warmup) return s.lr * n / warmup;
  const double end = static_cast<double>(s.decay_steps > 0 ? s.decay_steps : total_steps);
  const double progress = std::clamp((n - warmup) / std::max(end - warmup, 1.0), 0.0, 1.0);
  switch (s.kind) {
    case ScheduleKind::inverse_sqrt:
      return std::max(s.min_lr, s.lr * std::sqrt(warmup / n));  // Vaswani et al. 2017, 5.3
    case ScheduleKind::linear:
      return s.min_lr + (s.lr - s.min_lr) * (1 - progress);
    case ScheduleKind::cosine:
      return s.min_lr + (s.lr - s.min_lr) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
    case ScheduleKind::constant:
      return s.lr;
  }
  return s.lr;
}

}  // namespace weft
