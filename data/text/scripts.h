// data/text/scripts.h: measures in which scripts a text is written (Unicode's property Script).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

class ScriptSet {
 public:
  // Takes Unicode's names, joined by +: "Latin", "Han+Hiragana+Katakana". For an unknown name, throws a usage Error
  // that names `option` and lists the known names.
  ScriptSet(const std::string& names, const char* option);

  // Returns the share of the text's letters (category L) that belong to other scripts, or 0 if it contains no letters.
  // Letters shared by several scripts, such as the Japanese long-vowel sign, do not count.
  double foreign_share(std::string_view text) const;

 private:
  std::vector<bool> included_;  // by script number; the last entry is for all unnamed scripts
};

}  // namespace weft
