// trainer/optimizer/schedule.cpp: computes the rate of the warm-up and of the five schedules after it.
#include "trainer/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft {
namespace {

double end_of(const ScheduleConfig& s, double total_steps) {
  return s.decay_steps > 0 ? static_cast<double>(s.decay_steps) : total_steps;
}

// Returns the progress of step `n` from `begin` to `end`, in [0, 1].
double progress(double n, double begin, double end) {
  return std::clamp((n - begin) / std::max(end - begin, 1.0), 0.0, 1.0);
}

}  // namespace

double stable_until(const ScheduleConfig& s, double total_steps) {
  return (1 - s.decay_share) * end_of(s, total_steps);
}

double learning_rate(const ScheduleConfig& s, int64_t step, double total_steps) {
  const double n = static_cast<double>(step + 1), warmup = static_cast<double>(std::max<int64_t>(s.warmup, 1));
  if (n < warmup) return s.warmup_lr + (s.lr - s.warmup_lr) * n / warmup;
  const double end = end_of(s, total_steps), done = progress(n, warmup, end);
  switch (s.kind) {
    case ScheduleKind::inverse_sqrt:
      return std::max(s.min_lr, s.lr * std::sqrt(warmup / n));  // Vaswani et al. 2017, 5.3
    case ScheduleKind::linear:
      return s.min_lr + (s.lr - s.min_lr) * (1 - done);
    case ScheduleKind::cosine:
      return s.min_lr + (s.lr - s.min_lr) * 0.5 * (1 + std::cos(std::numbers::pi * done));
    case ScheduleKind::constant:
      return s.lr;
    case ScheduleKind::wsd: {  // Hu et al. 2024 (MiniCPM), section 4; Hägele et al. 2024, section 3
      const double decayed = progress(n, stable_until(s, total_steps), end);
      return s.min_lr + (s.lr - s.min_lr) * (1 - (s.decay_shape == DecayShape::linear ? decayed : std::sqrt(decayed)));
    }
  }
  return s.lr;
}

}  // namespace weft
