// trainer/plan/config_difference.cpp: compares the lines of two .cfg files.
#include "trainer/plan/config_difference.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "tensor/error.h"

namespace weft {
namespace {

// Options that come with a stage of the data, or with its schedule, are new where these are.
bool begins_stage_or_schedule(const std::string& option) {
  return option.starts_with("stage.") && (option.ends_with(".mix") || option.ends_with(".schedule.kind"));
}

bool shapes_training(const std::string& option, const std::vector<ConfigOption>& config) {
  const auto is = [&](const char* name, std::initializer_list<const char*> values) {
    return std::any_of(config.begin(), config.end(), [&](const auto& entry) {
      return entry.first == name && std::find(values.begin(), values.end(), entry.second) != values.end();
    });
  };
  if (option == "train.steps")  // as the end of the decay
    return is("schedule.decay_steps", {"0"}) && is("schedule.kind", {"linear", "cosine", "wsd"});
  return option == "batch.blocks" || option == "train.label_smoothing" || option.starts_with("model.dropout") ||
         option.starts_with("optimizer.") || option.starts_with("schedule.");
}

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
  const std::vector<ConfigOption> before = config_options(from);
  const std::map<std::string, std::string> known(before.begin(), before.end());
  std::vector<ChangedOption> changed;
  for (const auto& [name, value] : config_options(to)) {
    const auto was = known.find(name);
    if (was != known.end() && was->second != value) changed.push_back({name, was->second, value});
    if (was == known.end() && begins_stage_or_schedule(name)) changed.push_back({name, "not given", value});
  }
  return changed;
}

void require_same_training(const std::string& from, const std::string& to) {
  const std::vector<ConfigOption> now = config_options(to);
  std::string list;
  for (const ChangedOption& o : config_differences(from, to))
    if (shapes_training(o.name, now))
      list += fmt::format("{}{} = {} (now {})", list.empty() ? "" : ", ", o.name, printable(o.from), printable(o.to));
  if (!list.empty())
    fail(ErrorKind::usage, fmt::format("the run was trained with {}: use the old values, or another --train.output, or "
                                       "--train.allow_changes=true to resume with the new ones",
                                       list));
}

}  // namespace weft
