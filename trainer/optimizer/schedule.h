// trainer/optimizer/schedule.h: computes the learning rate as a pure function of the step.
#pragma once

#include <cstdint>

#include "tensor/enum_names.h"
#include "tensor/on_resume.h"

namespace weft {

enum class ScheduleKind : uint8_t { inverse_sqrt, linear, cosine, constant, wsd };
constexpr EnumNames<ScheduleKind, 5> enum_names(ScheduleKind) {
  return {{{"inverse_sqrt", ScheduleKind::inverse_sqrt},
           {"linear", ScheduleKind::linear},
           {"cosine", ScheduleKind::cosine},
           {"constant", ScheduleKind::constant},
           {"wsd", ScheduleKind::wsd}}};
}

// The rate of `wsd` falls from lr to min_lr like 1 - x or 1 - sqrt(x) (Hägele et al. 2024), where x is the progress of
// the decay from 0 to 1.
enum class DecayShape : uint8_t { linear, one_minus_sqrt };
constexpr EnumNames<DecayShape, 2> enum_names(DecayShape) {
  return {{{"linear", DecayShape::linear}, {"1-sqrt", DecayShape::one_minus_sqrt}}};
}

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double lr = 7e-4;
  int64_t warmup = 4000;
  double warmup_lr = 0;
  int64_t decay_steps = 0;
  double min_lr = 0;
  double decay_share = 0.2;
  DecayShape decay_shape = DecayShape::one_minus_sqrt;

  template <typename V>
  void fields(V& v) {
    v("kind", kind,
      "learning rate after warm-up: inverse_sqrt = as in the Transformer paper; linear or cosine = falls to min_lr; "
      "constant; wsd = constant, then falls to min_lr during the last steps (see decay_share)",
      OnResume::retrains);
    v("lr", lr,
      "peak learning rate, reached at the end of warm-up; the paper's base model uses width^-1/2 * warmup^-1/2 = 7e-4",
      OnResume::retrains);
    v("warmup", warmup, "steps over which the rate rises linearly from warmup_lr to lr", OnResume::retrains);
    v("warmup_lr", warmup_lr, "learning rate at the start of warm-up", OnResume::retrains);
    v("decay_steps", decay_steps,
      "step at which linear, cosine and wsd reach min_lr; 0 = the last step of the stage or run, also if train.minutes "
      "ends it",
      OnResume::retrains);
    v("min_lr", min_lr, "minimum learning rate after warm-up", OnResume::retrains);
    v("decay_share", decay_share,
      "wsd: number of steps in which the rate falls, as a fraction of all steps up to decay_steps", OnResume::retrains);
    v("decay_shape", decay_shape, "how the rate of wsd falls: linear, or 1-sqrt (fast at first)", OnResume::retrains);
  }
};

// Returns true if the rate reaches min_lr at decay_steps or, if that is 0, at the end of the run or stage.
constexpr bool decays(ScheduleKind kind) {
  return kind == ScheduleKind::linear || kind == ScheduleKind::cosine || kind == ScheduleKind::wsd;
}

// Returns the step after which wsd decays: (1 - decay_share) times decay_steps or, if that is 0, times total_steps.
double stable_until(const ScheduleConfig& schedule, double total_steps);

// Returns the rate of `step`, counted from 0, if `total_steps` are expected. During warm-up: warmup_lr + (lr -
// warmup_lr) * (step + 1) / warmup.
double learning_rate(const ScheduleConfig& schedule, int64_t step, double total_steps);

}  // namespace weft
