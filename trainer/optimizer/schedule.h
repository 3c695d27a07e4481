// trainer/optimizer/schedule.h: the learning rate, a pure function of the step.
#pragma once

#include <cstdint>

#include "tensor/enum_names.h"

namespace weft {

enum class ScheduleKind : uint8_t { inverse_sqrt, linear, cosine, constant };
constexpr EnumNames<ScheduleKind, 4> enum_names(ScheduleKind) {
  return {{{"inverse_sqrt", ScheduleKind::inverse_sqrt},
           {"linear", ScheduleKind::linear},
           {"cosine", ScheduleKind::cosine},
           {"constant", ScheduleKind::constant}}};
}

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double lr = 7e-4;
  int64_t warmup = 4000;
  int64_t decay_steps = 0;
  double min_lr = 0;

  template <typename V>
  void fields(V& v) {
    v("kind", kind, "after warm-up: inverse_sqrt (the paper's), linear, cosine (both down to min_lr) or constant");
    v("lr", lr, "the highest rate, reached at the end of warm-up; the paper's base: width^-1/2 * warmup^-1/2 = 7e-4");
    v("warmup", warmup, "steps over which the rate rises linearly from 0");
    v("decay_steps", decay_steps, "step at which linear and cosine reach min_lr; 0 = train.steps");
    v("min_lr", min_lr, "the rate never falls below it after warm-up");
  }
};

// The rate of step 0, 1, ...; warm-up gives lr * (step + 1) / warmup.
double learning_rate(const ScheduleConfig& schedule, int64_t step, int64_t total_steps);

}  // namespace weft
