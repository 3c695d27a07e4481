// launch/tagged_lines.h: the lines read by `weft translate`, with tags and forced prefixes from options or columns.
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
  // column to skip. If it is empty, a line contains only the source. Error of kind usage if a name is unknown, missing
  // or given twice, or if an option already sets the column's value for all lines.
  TaggedLines(const TagRequest& tags, const std::string& target_prefix, const std::string& columns);

  // Error of kind data if the line has too few columns. The message contains `number`, which counts lines from 1.
  TaggedLine parse(const std::string& line, int64_t number) const;

  // Checks the same as parse(), and also refuses tags that the tokenizers lack and prefixes that are too long.
  void check(const std::string& line, int64_t number, const Translator& translator) const;

 private:
  TaggedLine all_;  // values that apply to every line
  std::string names_;
  std::vector<std::string TaggedLine::*> columns_;  // null: skipped
};

}  // namespace weft
