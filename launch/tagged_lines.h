// launch/tagged_lines.h: the lines that `weft translate` reads, with their tags and forced prefix, from options or
// from columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/options/tag_options.h"
#include "trainer/inference/translator.h"

namespace weft {

class TaggedLines {
 public:
  // `columns`: names of a line's columns, with commas between them: source, tag, target-tag, prefix, and - for one that
  // is skipped; empty: a line is a source. A usage Error for names that are unknown, missing or given twice, and for a
  // column of what an option gives to every line.
  TaggedLines(const TagRequest& tags, const std::string& target_prefix, const std::string& columns);

  // A data Error that has the number, from 1, for a line with too few columns.
  TaggedLine parse(const std::string& line, int64_t number) const;

  // The same, and one for tags that the tokenizers lack.
  void check(const std::string& line, int64_t number, const Translator& translator) const;

 private:
  TaggedLine all_;  // what every line has
  std::string names_;
  std::vector<std::string TaggedLine::*> columns_;  // null: skipped
};

}  // namespace weft
