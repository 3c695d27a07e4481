// trainer/plan/config_difference.cpp: compares the lines of two .cfg files.
#include "trainer/plan/config_difference.h"

#include <map>
#include <sstream>

namespace weft {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;  // name, value

Values values_of(const std::string& text) {
  Values values;
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

}  // namespace

std::vector<ChangedOption> config_differences(const std::string& from, const std::string& to) {
  const Values before = values_of(from);
  const std::map<std::string, std::string> known(before.begin(), before.end());
  std::vector<ChangedOption> changed;
  for (const auto& [name, value] : values_of(to)) {
    const auto was = known.find(name);
    if (was != known.end() && was->second != value) changed.push_back({name, was->second, value});
  }
  return changed;
}

}  // namespace weft
