// trainer/plan/config_difference.cpp: compares the lines of two .cfg files.
#include "trainer/plan/config_difference.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "tensor/error.h"

namespace weft {
namespace {

using Values = std::vector<ConfigOption>;

// Options that come with a stage of the data, or with its schedule, stand for all of it where only one text has it.
bool begins_stage_or_schedule(const std::string& option) {
  return option.starts_with("stage.") && (option.ends_with(".mix") || option.ends_with(".schedule.kind"));
}

// "stage.NAME" of the first stages.
std::vector<std::string> first_stages(const Values& config, size_t count) {
  std::vector<std::string> stages;
  for (const auto& [option, value] : config)
    if (option.starts_with("stage.") && option.ends_with(".mix") && stages.size() < count)
      stages.push_back(option.substr(0, option.size() - 4));
  return stages;
}

// Which options shape the training of a run whose first stages have begun.
class TrainingOptions {
 public:
  TrainingOptions(const Values& before, const Values& now, size_t num_stages) : now_(now.begin(), now.end()) {
    for (const Values* config : {&before, &now})
      for (std::string& stage : first_stages(*config, num_stages)) {
        if (config == &now && now_.contains(stage + ".schedule.kind")) schedule_ = stage + ".schedule";
        begun_.push_back(std::move(stage));
      }
    past_ = first_stages(now, num_stages - 1);
  }

  bool contains(const std::string& option) const {
    if (option == "train.steps") return decays_without_end() && !decays_with_stage();
    if (option == stage_of_schedule() + ".steps") return decays_without_end();
    for (const std::string& stage : begun_)
      if (option.starts_with(stage + ".schedule.")) return true;
    for (const std::string& stage : past_)
      for (const char* end : {".steps", ".tokens", ".epochs"})
        if (option == stage + end) return true;
    return option == "batch.blocks" || option == "train.label_smoothing" || option.starts_with("model.dropout") ||
           (option.starts_with("optimizer.") && option != "optimizer.kind") || option.starts_with("schedule.");
  }

 private:
  bool is(const std::string& option, const std::string& value) const {
    const auto found = now_.find(option);
    return found != now_.end() && found->second == value;
  }
  std::string stage_of_schedule() const { return schedule_.substr(0, schedule_.rfind('.')); }
  bool decays_without_end() const {  // of its own: it falls until the stage or the run ends
    const std::string kind = schedule_ + ".kind";
    return is(schedule_ + ".decay_steps", "0") && (is(kind, "linear") || is(kind, "cosine") || is(kind, "wsd"));
  }
  bool decays_with_stage() const { return schedule_ != "schedule" && !is(stage_of_schedule() + ".steps", "0"); }

  const std::map<std::string, std::string> now_;
  std::vector<std::string> begun_;     // stages, by both texts
  std::vector<std::string> past_;      // that are over
  std::string schedule_ = "schedule";  // that holds now: the run's, or that of the last stage that has one
};

}  // namespace

std::vector<ConfigOption> config_options(const std::string& text) {
  std::vector<ConfigOption> values;
  std::istringstream lines(text);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find(" = ");
    if (line.size() > 2 && line.front() == '[') section = line.substr(1, line.size() - 2) + ".";
    if (equals != std::string::npos && line.front() != '#')
      values.emplace_back(section + line.substr(0, equals), line.substr(equals + 3));
  }
  return values;
}

std::vector<ChangedOption> config_differences(const std::string& from, const std::string& to) {
  constexpr const char* kNotGiven = "not given";
  const Values before = config_options(from), now = config_options(to);
  const std::map<std::string, std::string> known(before.begin(), before.end()), left(now.begin(), now.end());
  std::vector<ChangedOption> changed;
  for (const auto& [name, value] : now) {
    const auto was = known.find(name);
    if (was != known.end() && was->second != value) changed.push_back({name, was->second, value});
    if (was == known.end() && begins_stage_or_schedule(name)) changed.push_back({name, kNotGiven, value});
  }
  for (const auto& [name, value] : before)
    if (begins_stage_or_schedule(name) && !left.contains(name)) changed.push_back({name, value, kNotGiven});
  return changed;
}

void require_same_training(const std::string& from, const std::string& to, size_t num_stages) {
  const TrainingOptions options(config_options(from), config_options(to), num_stages);
  std::string list;
  for (const ChangedOption& o : config_differences(from, to))
    if (options.contains(o.name))
      list += fmt::format("{}{} = {} (now {})", list.empty() ? "" : ", ", o.name, printable(o.from), printable(o.to));
  if (!list.empty())
    fail(ErrorKind::usage, fmt::format("the run was trained with {}: use the old values, or another --train.output, or "
                                       "--train.allow_changes=true to resume with the new ones",
                                       list));
}

void require_same_average(const std::string& from, const std::string& to) {
  for (const std::string* text : {&from, &to}) {
    const Values values = config_options(*text);
    if (std::ranges::count(values, ConfigOption("optimizer.kind", "schedule_free")) == 0) return;
  }
  for (const ChangedOption& o : config_differences(from, to))
    if (o.name == "optimizer.beta1")
      fail(ErrorKind::usage,
           fmt::format("optimizer.beta1 = {} cannot become {} in a run with optimizer.kind = schedule_free, whose "
                       "average was made with it: keep it, or start a new run from its weights (train.init)",
                       printable(o.from), printable(o.to)));
}

}  // namespace weft
