// model/parameters/frozen_names.h: decides by name which parameters do not train (train.freeze).
#pragma once

#include <string>
#include <vector>

namespace weft {

class FrozenNames {
 public:
  FrozenNames() = default;
  // `patterns` are shell patterns of whole names (fnmatch(3)), such as "encoder.*" and "*.norm.weight".
  explicit FrozenNames(const std::vector<std::string>& patterns);

  bool match(const std::string& name);         // true if any pattern matches
  std::vector<std::string> unmatched() const;  // the patterns that have matched no name yet

 private:
  struct Pattern {
    std::string text;
    bool has_matched = false;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace weft
