// trainer/config/changed_options.cpp: compares the fields of two configurations.
#include "trainer/config/changed_options.h"

#include <algorithm>

#include "tensor/error.h"
#include "trainer/config/fields.h"

namespace weft {
namespace {

constexpr const char* kNotGiven = "not given";

// True for the option that represents a complete stage or schedule that only one of the configurations contains.
bool begins_stage_or_schedule(const std::string& option) {
  return option.starts_with("stage.") && (option.ends_with(".mix") || option.ends_with(".schedule.kind"));
}

bool decays_until_its_end(const ScheduleConfig& s) {  // until the end of the stage or the run
  return s.decay_steps == 0 && decays(s.kind);
}

// Decides which options affect the training of a run whose first `num_stages` stages have started.
class TrainingOptions {
 public:
  TrainingOptions(const RunConfig& from, const RunConfig& to, size_t num_stages)
      : num_past_(std::max<size_t>(num_stages, 1) - 1), schedule_(&to.schedule) {
    for (const RunConfig* config : {&from, &to})
      for (size_t i = 0; i < std::min(num_stages, config->stages.size()); ++i)
        begun_.push_back("stage." + config->stages[i].name + ".");
    for (size_t i = 0; i < to.stages.size() && i < num_past_; ++i) past_.push_back("stage." + to.stages[i].name + ".");
    for (size_t i = 0; i < to.stages.size() && i < num_stages; ++i)
      if (to.stages[i].has_schedule) of_schedule_ = &to.stages[i], schedule_ = &to.stages[i].schedule;
  }

  bool contains(const ChangedOption& option) const {
    const bool decays_with_stage = of_schedule_ != nullptr && of_schedule_->steps != 0;
    if (option.name == "train.minutes") return decays_until_its_end(*schedule_);
    if (option.name == "train.steps" || option.name == "train.epochs" || option.name == "train.tokens")
      return decays_until_its_end(*schedule_) && !decays_with_stage;
    if (of_schedule_ != nullptr && option.name == "stage." + of_schedule_->name + ".steps")
      return decays_until_its_end(*schedule_);
    if (option.on_resume == OnResume::ends_stage) return is_of(past_, option);
    return option.on_resume == OnResume::retrains && (!option.name.starts_with("stage.") || is_of(begun_, option));
  }

 private:
  static bool is_of(const std::vector<std::string>& stages, const ChangedOption& option) {
    return std::ranges::any_of(stages, [&](const std::string& stage) { return option.name.starts_with(stage); });
  }

  size_t num_past_;
  std::vector<std::string> begun_, past_;     // "stage.NAME."; begun_ lists stages of both configurations
  const ScheduleConfig* schedule_;            // of the last started stage that has a schedule, or of the run
  const StageConfig* of_schedule_ = nullptr;  // the stage with this schedule
};

const char* reason_to_refuse(OnResume on_resume) {
  if (on_resume == OnResume::order) return "the run could not continue at its position in the data";
  if (on_resume == OnResume::optimizer) return "the optimizer state would not fit";
  return on_resume == OnResume::model ? "the parameters would belong to a different model" : nullptr;
}

// A checkpoint of a schedule-free run contains y and z. The average x is computed from y and z with the beta1 that the
// run used (docs/optimizers.md).
void require_same_average(const RunConfig& from, const RunConfig& to) {
  const auto is_free = [](const RunConfig& c) { return c.optimizer.kind == OptimizerKind::schedule_free; };
  if (is_free(from) && is_free(to) && from.optimizer.beta1 != to.optimizer.beta1)
    fail(ErrorKind::usage,
         fmt::format(
             "optimizer.beta1 = {} cannot change to {} in a run with optimizer.kind = schedule_free, because the "
             "average depends on beta1: use the old value, or start a new run from the old weights (train.init)",
             from.optimizer.beta1, to.optimizer.beta1));
}

}  // namespace

std::vector<ChangedOption> changed_options(const RunConfig& from, const RunConfig& to) {
  RunConfig before = from, now = to;
  const std::vector<Field> known = fields_of(before), fields = fields_of(now);
  std::vector<ChangedOption> changed;
  for (const Field& field : fields) {
    const auto was = std::ranges::find(known, field.key, &Field::key);
    if (was != known.end() && was->get() != field.get())
      changed.push_back({field.key, was->get(), field.get(), field.on_resume});
    if (was == known.end() && begins_stage_or_schedule(field.key))
      changed.push_back({field.key, kNotGiven, field.get(), field.on_resume});
  }
  for (const Field& field : known)
    if (begins_stage_or_schedule(field.key) && std::ranges::find(fields, field.key, &Field::key) == fields.end())
      changed.push_back({field.key, field.get(), kNotGiven, field.on_resume});
  return changed;
}

void require_resumable(const RunConfig& from, const RunConfig& to, size_t num_stages, bool allow_changes) {
  require_same_average(from, to);
  const std::vector<ChangedOption> changed = changed_options(from, to);
  for (const ChangedOption& o : changed)
    if (const char* reason = reason_to_refuse(o.on_resume))
      fail(ErrorKind::usage, fmt::format("the run started with {} = {}, but the new value is {}, so {}; use the old "
                                         "value, a different --train.output, or --train.fresh=true",
                                         o.name, printable(o.from), printable(o.to), reason));
  const TrainingOptions options(from, to, num_stages);
  std::string list;
  for (const ChangedOption& o : changed)
    if (!allow_changes && options.contains(o))
      list += fmt::format("{}{} = {} (now {})", list.empty() ? "" : ", ", o.name, printable(o.from), printable(o.to));
  if (!list.empty())
    fail(ErrorKind::usage, fmt::format("the run was trained with {}: use the old values, a different --train.output, "
                                       "or --train.allow_changes=true to resume with the new values",
                                       list));
}

void require_same_model(const ModelConfig& in_folder, const ModelConfig& now, const std::string& folder) {
  RunConfig before{.model = in_folder};
  const RunConfig own{.model = now};
  before.model.lora = now.lora;  // adapters belong to a run, not to the model that it adapts
  for (const ChangedOption& o : changed_options(before, own))
    if (o.on_resume == OnResume::model)
      fail(ErrorKind::usage, fmt::format("the model in {} has {} = {}, but this run has {}: use the model's value",
                                         folder, o.name, printable(o.from), printable(o.to)));
}

}  // namespace weft
