// trainer/plan/config_difference.h: what differs between two configurations, as .cfg text.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct ChangedOption {
  std::string name;      // "train.seed"
  std::string from, to;  // values as in the files
};

// Options that both texts have, with different values, in the order of `to`.
std::vector<ChangedOption> config_differences(const std::string& from, const std::string& to);

}  // namespace weft
