// launch/tagged_lines.h: the lines that `weft translate` reads. Options or columns give their tags and forced prefix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/options/tag_options.h"
#include "trainer/inference/translator.h"

namespace weft {

class TaggedLines {
 public:
  // `columns` lists the names of a line's columns, separated by commas: source, tag, target-tag, prefix, and - for a
  // column to skip. If it is empty, a line is a source. Error of kind usage if a name is unknown, missing or given
  // twice, or if an option already gives its value for every line.
  TaggedLines(const TagRequest& tags, const std::string& target_prefix, const std::string& columns);

  // Error of kind data if the line has too few columns. The message contains the line's number, which starts at 1.
  TaggedLine parse(const std::string& line, int64_t number) const;

  // The same, and also refuses tags that the tokenizers lack and prefixes that are too long.
  void check(const std::string& line, int64_t number, const Translator& translator) const;

 private:
  TaggedLine all_;  // values that apply to every line
  std::string names_;
  std::vector<std::string TaggedLine::*> columns_;  // null: skipped
};

}  // namespace weft
