// trainer/run/recovery.cpp: checks steps for divergence, and goes back to good parameters.
#include "trainer/run/recovery.h"

#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/run/divergence_report.h"

namespace weft {

// Skipped steps that lower the loss scale are part of f16's search for a scale, so only other skipped steps count. All
// ranks see the same numbers and make the same decision.
void Recovery::observe(const StepReport& r) {
  const TrainConfig& t = run_.config().train;
  if (!r.skipped() && r.totals.target_weight == 0) return;  // the step has no loss
  const bool lost = r.skipped() && !LossScaler::can_lower(r.loss_scale);
  DivergenceState& state = run_.state.divergence;
  const Divergence found = DivergenceRule(t.divergence_rise).observe(state, r.step, r.nll(), lost);
  if (found == Divergence::none || (found == Divergence::loss && t.on_divergence == OnDivergence::ignore)) return;
  go_back(describe_divergence(found, r, state, t.divergence_rise));
}

void Recovery::guard(const std::function<void()>& part) {
  try {
    part();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::diverged) throw;
    go_back(e.what());
    part();
  }
}

// Step count and data position are not reset, so the run does not repeat the sentences read since the checkpoint.
void Recovery::go_back(const std::string& reason) {
  TrainState& state = run_.state;
  const OnDivergence chosen = run_.config().train.on_divergence;
  checkpoints_.settle();  // so that the choice of a checkpoint does not depend on the speed of saves
  const std::string good = checkpoints_.newest_known_good();
  const bool may = chosen == OnDivergence::rollback && state.divergence.rollbacks < DivergenceRule::kMaxRollbacks;
  const std::string advice = advice_after_divergence(good, chosen, run_.data.stages().schedule(run_.config()).section);
  if (good.empty() || !may) fail(ErrorKind::diverged, reason + "; " + advice);
  checkpoints_.go_back_to(good);
  const int64_t good_step = step_of_checkpoint(good);
  validator_.drop_after(good_step);
  DivergenceRule::note_rollback(state.divergence, state.step);
  checkpoints_.snapshot();
  run_.log.rollback(state.step, good_step);
  run_.log.message(
      fmt::format("{}; going back to the parameters of {}, and continuing after step {}", reason, good, state.step));
}

}  // namespace weft
