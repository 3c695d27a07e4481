// launch/tagged_lines.h: parses the lines of `weft translate`, whose tags and prefixes come from options or columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/options/tag_options.h"
#include "trainer/inference/translator.h"

namespace weft {

class TaggedLines {
 public:
  // `columns` lists the names of a line's columns, separated by commas: source, tag, target-tag, prefix, - for a
  // column to skip, and ... at the end to skip all further columns. If `columns` is empty, a line contains only the
  // source. Error of kind usage if a name is unknown or given twice, if `source` is missing, or if an option already
  // sets a column's value for all lines.
  TaggedLines(const TagRequest& tags, const std::string& target_prefix, const std::string& columns);

  // Splits a line into columns. Error of kind data if their number is wrong. `where` names the line in messages.
  // InputLines::kBad becomes a line without text.
  TaggedLine parse(const std::string& line, const std::string& where) const;

  // Makes the checks of parse(), and also refuses tags that the tokenizers lack and prefixes that are too long.
  void check(const std::string& line, const std::string& where, const Translator& translator) const;

 private:
  TaggedLine all_;  // values that apply to every line
  std::string names_;
  std::vector<std::string TaggedLine::*> columns_;  // null: skipped
  bool may_have_more_ = false;                      // "..." ends --columns
};

}  // namespace weft
