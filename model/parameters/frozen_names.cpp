// model/parameters/frozen_names.cpp: matches names with fnmatch.
#include "model/parameters/frozen_names.h"

#include <fnmatch.h>

namespace weft {

FrozenNames::FrozenNames(const std::vector<std::string>& patterns) {
  for (const std::string& text : patterns)
    if (!text.empty()) patterns_.push_back({text});
}

bool FrozenNames::match(const std::string& name) {
  bool any = false;
  for (Pattern& pattern : patterns_) {
    if (fnmatch(pattern.text.c_str(), name.c_str(), /*flags=*/0) != 0) continue;
    pattern.has_matched = any = true;
  }
  return any;
}

std::vector<std::string> FrozenNames::unmatched() const {
  std::vector<std::string> texts;
  for (const Pattern& pattern : patterns_)
    if (!pattern.has_matched) texts.push_back(pattern.text);
  return texts;
}

}  // namespace weft
