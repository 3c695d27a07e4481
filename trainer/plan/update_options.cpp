// trainer/plan/update_options.cpp: what goes together, and what does not.
#include "trainer/plan/update_options.h"

#include "tensor/error.h"

namespace weft {

void check_optimizer(const RunConfig& c) {
  const OptimizerConfig& o = c.optimizer;
  if (!(o.muon_momentum >= 0 && o.muon_momentum < 1))
    fail(ErrorKind::usage, fmt::format("optimizer.muon_momentum = {} must be in [0, 1)", o.muon_momentum));
  if (o.kind == OptimizerKind::muon && c.parallel.zero > 0)
    fail(ErrorKind::usage,
         fmt::format("optimizer.kind = muon updates whole matrices, which parallel.zero = {} divides over dp: leave "
                     "parallel.zero at 0 (the ranks of dp share Muon's work without it)",
                     c.parallel.zero));
  if (o.kind != OptimizerKind::schedule_free) return;
  if (c.train.ema > 0)
    fail(ErrorKind::usage, fmt::format("train.ema = {} is a second average beside that of optimizer.kind = "
                                       "schedule_free: set train.ema = 0",
                                       c.train.ema));
  if (c.parallel.zero > 0)
    fail(ErrorKind::usage,
         fmt::format("optimizer.kind = schedule_free is not divided over dp: parallel.zero = {} must be "
                     "0",
                     c.parallel.zero));
  if (!(o.beta1 > 0))
    fail(ErrorKind::usage,
         fmt::format("optimizer.beta1 = {} must be above 0 with optimizer.kind = schedule_free: it is "
                     "the share of the mean in the weights",
                     o.beta1));
  if (c.schedule.kind != ScheduleKind::constant)
    fail(ErrorKind::usage, fmt::format("optimizer.kind = schedule_free takes the place of a falling rate: set "
                                       "schedule.kind = constant (it is {}), with schedule.warmup",
                                       name_of_enum(c.schedule.kind)));
}

std::string describe_optimizer(const RunConfig& c) {
  if (c.optimizer.kind == OptimizerKind::schedule_free)
    return "schedule-free AdamW; its weighted mean is validated and saved as the model";
  if (c.optimizer.kind != OptimizerKind::muon) return "";
  return fmt::format("muon for matrices, momentum {}, {}; adam for tables, biases and norms", c.optimizer.muon_momentum,
                     name_of_enum(c.optimizer.muon_adjust));
}

// Warm-up, constant and decaying steps must fit in this order.
void check_schedule(const ScheduleConfig& s, int64_t total_steps) {
  if (!(s.decay_share > 0 && s.decay_share <= 1))
    fail(ErrorKind::usage, fmt::format("schedule.decay_share = {} must be in (0, 1]", s.decay_share));
  const double stable = stable_until(s, total_steps);
  if (s.kind != ScheduleKind::wsd || static_cast<double>(s.warmup) <= stable) return;
  fail(ErrorKind::usage,
       fmt::format("schedule.warmup = {} ends after step {:.0f}, where the decay of schedule.kind = wsd begins: lower "
                   "schedule.warmup or schedule.decay_share = {}, or raise {}",
                   s.warmup, stable, s.decay_share, s.decay_steps > 0 ? "schedule.decay_steps" : "train.steps"));
}

std::string describe_schedule(const ScheduleConfig& s, int64_t total_steps) {
  const std::string decay = s.kind == ScheduleKind::wsd ? fmt::format(", constant until step {:.0f}, then down to {}",
                                                                      stable_until(s, total_steps), s.min_lr)
                                                        : "";
  return fmt::format("rate up to {} after {} of warm-up{}", s.lr, s.warmup, decay);
}

}  // namespace weft
