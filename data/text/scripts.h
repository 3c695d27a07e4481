// data/text/scripts.h: measures in which scripts a text is written (Unicode's property Script).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class ScriptSet {
 public:
  // Takes Unicode's names, joined by +: "Latin", "Han+Hiragana+Katakana". For an unknown name, throws a usage Error
  // that names `option` and lists the known names.
  ScriptSet(const std::string& names, const char* option);

  // Both return a share of the text's letters (category L), or 0 without letters: of those that belong to these
  // scripts, and of the others. Letters shared by several scripts, such as the Japanese long-vowel sign, do not count.
  double share(std::string_view text) const;
  double foreign_share(std::string_view text) const;

 private:
  struct Letters {
    int64_t own = 0, foreign = 0;
  };
  Letters count(std::string_view text) const;

  std::vector<bool> included_;  // by script number; the last entry is for all unnamed scripts
};

}  // namespace weft
