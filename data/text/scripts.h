// data/text/scripts.h: in which scripts a text is written (Unicode's property Script).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

class ScriptSet {
 public:
  // Unicode's names, several with + between them: "Latin", "Han+Hiragana+Katakana". `option` is the one that gave
  // them, for a usage Error about an unknown name, which lists those that are known.
  ScriptSet(const std::string& names, const char* option);

  // Share of the text's letters (category L) that belong to other scripts; 0 without letters. Letters that scripts
  // share, such as the Japanese sign of a long vowel, do not count.
  double foreign_share(std::string_view text) const;

 private:
  std::vector<bool> included_;  // by the number of a script; the last: any script without a name here
};

}  // namespace weft
