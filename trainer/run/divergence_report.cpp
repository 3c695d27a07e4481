// trainer/run/divergence_report.cpp: describes a diverged run and gives advice.
#include "trainer/run/divergence_report.h"

#include <fmt/format.h>

namespace weft {

std::string describe_divergence(Divergence found, const StepReport& report, const DivergenceState& state, double rise) {
  if (found == Divergence::loss)
    return fmt::format(
        "step {}: the run has diverged, because the nll is {:.4g} and for {} steps was more than {:g} "
        "(train.divergence_rise) above its lowest mean, {:.4g}",
        report.step, report.nll(), DivergenceRule::kWindow, rise, state.lowest);
  return fmt::format(
      "step {}: the run has diverged, because {} steps in a row had gradients that are not finite (epoch {}, loss "
      "scale {:.0f}, {})",
      report.step, DivergenceRule::kMaxNotFinite, report.epoch(), report.loss_scale, report.not_finite);
}

std::string advice_after_divergence(const std::string& good, OnDivergence chosen, const std::string& schedule) {
  const std::string change = fmt::format(
      "a lower {0}.lr, a longer {0}.warmup or optimizer.clip_norm above 0 (and --train.allow_changes=true)", schedule);
  if (good.empty()) return fmt::format("no checkpoint is known to be good: use --train.fresh=true with {}", change);
  if (chosen == OnDivergence::rollback)
    return fmt::format(
        "{} rollbacks did not help: remove the checkpoints newer than {}, then run the same command with {}",
        DivergenceRule::kMaxRollbacks, good, change);
  return fmt::format("run the same command with {}, and with --train.on_divergence=rollback, which goes back to {}",
                     change, good);
}

}  // namespace weft
