// trainer/plan/update_options.cpp: checks and describes options of schedules and optimizers.
#include "trainer/plan/update_options.h"

#include "tensor/error.h"

namespace weft {
namespace {

// Returns the schedules of the run and its stages, each with the name of its section.
std::vector<std::pair<std::string, const ScheduleConfig*>> all_schedules(const RunConfig& c) {
  std::vector<std::pair<std::string, const ScheduleConfig*>> schedules = {{"schedule", &c.schedule}};
  for (const StageConfig& stage : c.stages)
    if (stage.has_schedule) schedules.emplace_back(schedule_section(stage.name), &stage.schedule);
  return schedules;
}

template <typename T>
void require_not_negative(T value, const std::string& section, const char* option) {
  if (!(value >= 0)) fail(ErrorKind::usage, fmt::format("{}.{} = {} must be at least 0", section, option, value));
}

// Checks a stage only if it starts before the run ends, and a known number of steps after its schedule started.
void require_no_rate_of_zero(const RunConfig& c, const std::vector<Stage>& stages) {
  const ScheduleConfig* schedule = &c.schedule;
  std::string section = "schedule";
  size_t first = 0;  // stage in which `schedule` starts
  std::optional<int64_t> total = c.train.steps;
  for (size_t i = 0; i < stages.size(); ++i) {
    const std::optional<int64_t> before = steps_before(stages, i), done = steps_before(stages, i, first);
    if (before && *before >= c.train.steps) return;
    if (stages[i].schedule) {
      schedule = &*stages[i].schedule, section = schedule_section(stages[i].name);
      first = i, total = steps_to_decay(stages, i, c.train.steps);
    } else if (schedule->lr > 0 && done && total && learning_rate(*schedule, *done, *total) == 0) {
      fail(ErrorKind::usage, fmt::format("stage.{0} would train at a rate of 0, because {1} reaches {1}.min_lr = 0 "
                                         "before the stage starts: set {2}.lr, {1}.min_lr or {1}.decay_steps",
                                         stages[i].name, section, schedule_section(stages[i].name)));
    }
  }
}

}  // namespace

void check_optimizer(const RunConfig& c) {
  const OptimizerConfig& o = c.optimizer;
  if (!(o.muon_momentum >= 0 && o.muon_momentum < 1))
    fail(ErrorKind::usage, fmt::format("optimizer.muon_momentum = {} must be in [0, 1)", o.muon_momentum));
  if (o.kind == OptimizerKind::muon && c.parallel.zero > 0)
    fail(ErrorKind::usage,
         fmt::format("optimizer.kind = muon needs complete matrices, but parallel.zero = {} shards them over dp: set "
                     "parallel.zero = 0 (the dp ranks then still divide Muon's work)",
                     c.parallel.zero));
  if (o.kind != OptimizerKind::schedule_free) return;
  if (c.train.ema > 0)
    fail(ErrorKind::usage, fmt::format("train.ema = {} would add a second average, because optimizer.kind = "
                                       "schedule_free already averages the weights: set train.ema = 0",
                                       c.train.ema));
  if (!(o.beta1 > 0))
    fail(ErrorKind::usage, fmt::format("optimizer.beta1 = {} must be above 0 with optimizer.kind = schedule_free, "
                                       "because it is the share of the mean in the training weights",
                                       o.beta1));
  for (const auto& [section, schedule] : all_schedules(c))
    if (schedule->kind != ScheduleKind::constant)
      fail(ErrorKind::usage, fmt::format("optimizer.kind = schedule_free needs a rate that does not decay: set "
                                         "{}.kind = constant (it is {}), and choose {}.warmup",
                                         section, name_of_enum(schedule->kind), section));
}

std::string describe_optimizer(const RunConfig& c) {
  if (c.optimizer.kind == OptimizerKind::schedule_free)
    return "schedule-free AdamW; the weighted mean of its weights is validated and saved as the model";
  if (c.optimizer.kind == OptimizerKind::lion) return "lion: updates by the sign of a momentum";
  if (c.optimizer.kind != OptimizerKind::muon) return "";
  return fmt::format("muon for matrices, momentum {}, {}; adam for tables, biases and norms", c.optimizer.muon_momentum,
                     name_of_enum(c.optimizer.muon_adjust));
}

void check_schedule(const ScheduleConfig& s, std::optional<int64_t> total_steps, const std::string& section) {
  require_not_negative(s.lr, section, "lr");
  require_not_negative(s.warmup, section, "warmup");
  require_not_negative(s.decay_steps, section, "decay_steps");
  for (const auto& [option, rate] : {std::pair{"min_lr", s.min_lr}, {"warmup_lr", s.warmup_lr}}) {
    require_not_negative(rate, section, option);
    if (rate > s.lr)
      fail(ErrorKind::usage,
           fmt::format("{}.{} = {} must be at most {}.lr = {}, the peak rate", section, option, rate, section, s.lr));
  }
  if (!(s.decay_share > 0 && s.decay_share <= 1))
    fail(ErrorKind::usage, fmt::format("{}.decay_share = {} must be in (0, 1]", section, s.decay_share));
  // Warm-up must end before the decay of wsd starts.
  if (s.kind != ScheduleKind::wsd || (!total_steps && s.decay_steps == 0)) return;
  const double stable = stable_until(s, total_steps.value_or(0));
  if (static_cast<double>(s.warmup) <= stable) return;
  const bool is_of_stage = section != "schedule";
  fail(ErrorKind::usage, fmt::format("{}.warmup = {} ends after step {:.0f}{}, where the decay of {}.kind = wsd "
                                     "starts: lower {}.warmup or {}.decay_share = {}, or raise {}",
                                     section, s.warmup, stable, is_of_stage ? " of the stage" : "", section, section,
                                     section, s.decay_share,
                                     s.decay_steps > 0 ? section + ".decay_steps"
                                     : is_of_stage     ? "the steps of the stage, or train.steps"
                                                       : "train.steps, train.epochs or train.tokens"));
}

void check_schedules(const RunConfig& c, const std::vector<Stage>& stages) {
  if (c.train.steps > 0) check_schedule(c.schedule, c.train.steps);  // else once the corpora are open
  for (size_t i = 0; i < stages.size(); ++i) {
    if (!stages[i].schedule) continue;
    const std::optional<int64_t> before = steps_before(stages, i);
    const bool is_reached = !before || *before < c.train.steps;
    check_schedule(*stages[i].schedule, is_reached ? steps_to_decay(stages, i, c.train.steps) : std::nullopt,
                   schedule_section(stages[i].name));
  }
  require_no_rate_of_zero(c, stages);
}

std::string describe_schedule(const ScheduleConfig& s, std::optional<int64_t> total_steps) {
  if (total_steps && *total_steps > 0 && *total_steps < s.warmup)
    return fmt::format("rate up to {:.3g} instead of {}, because the warm-up of {} steps is not completed",
                       learning_rate(s, *total_steps - 1, *total_steps), s.lr, s.warmup);
  std::string text = fmt::format("rate up to {} after {} steps of warm-up", s.lr, s.warmup);
  if (!decays(s.kind)) return text;
  const bool is_known = total_steps || s.decay_steps > 0;
  if (s.kind == ScheduleKind::wsd)
    text += is_known ? fmt::format(", constant until step {:.0f}", stable_until(s, total_steps.value_or(0)))
                     : fmt::format(", constant until the last {:g} % of its steps", 100 * s.decay_share);
  return text + fmt::format(", then down to {}{}", s.min_lr, is_known ? "" : " by train.steps");
}

std::string describe_fall_by_clock(const RunConfig& c) {
  const auto schedules = all_schedules(c);
  if (c.train.minutes == 0 || std::ranges::none_of(schedules, [](const auto& s) {
        return decays(s.second->kind) && s.second->decay_steps == 0;
      }))
    return "";
  return "if train.minutes ends the run first, the rate falls by the clock and ends with the run";
}

std::string describe_options_without_effect(const RunConfig& c) {
  std::string text;
  const auto note = [&](bool has_effect, const std::string& option, const auto& value, const auto& by_default) {
    if (!has_effect && value != by_default) text += (text.empty() ? "" : ", ") + option;
  };
  const ScheduleConfig plain;
  for (const auto& [section, s] : all_schedules(c)) {
    const bool is_wsd = s->kind == ScheduleKind::wsd;
    note(decays(s->kind), section + ".decay_steps", s->decay_steps, plain.decay_steps);
    note(s->kind != ScheduleKind::constant, section + ".min_lr", s->min_lr, plain.min_lr);
    note(s->warmup > 1, section + ".warmup_lr", s->warmup_lr, plain.warmup_lr);
    note(is_wsd, section + ".decay_share", s->decay_share, plain.decay_share);
    note(is_wsd, section + ".decay_shape", s->decay_shape, plain.decay_shape);
  }
  note(c.optimizer.kind != OptimizerKind::lion, "optimizer.eps", c.optimizer.eps, OptimizerConfig().eps);
  const bool is_muon = c.optimizer.kind == OptimizerKind::muon;
  note(is_muon, "optimizer.muon_momentum", c.optimizer.muon_momentum, OptimizerConfig().muon_momentum);
  note(is_muon, "optimizer.muon_adjust", c.optimizer.muon_adjust, OptimizerConfig().muon_adjust);
  return text;
}

}  // namespace weft
