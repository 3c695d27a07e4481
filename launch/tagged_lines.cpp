// launch/tagged_lines.cpp: splits lines at their tabs.
#include "launch/tagged_lines.h"

#include <algorithm>
#include <array>
#include <utility>

#include "data/tags.h"
#include "data/text/split.h"
#include "launch/input_lines.h"
#include "tensor/error.h"

namespace weft {
namespace {

using Member = std::string TaggedLine::*;
constexpr std::array<std::pair<const char*, Member>, 5> kColumns = {{{"source", &TaggedLine::text},
                                                                     {"tag", &TaggedLine::tag},
                                                                     {"target-tag", &TaggedLine::target_tag},
                                                                     {"prefix", &TaggedLine::prefix},
                                                                     {"-", nullptr}}};

}  // namespace

TaggedLines::TaggedLines(const TagRequest& tags, const std::string& target_prefix, const std::string& columns)
    : all_{.text = "", .tag = tags.tag, .target_tag = tags.target_tag, .prefix = target_prefix}, names_(columns) {
  if (columns.empty()) return;
  for (const std::string& name : split_at_commas(columns)) {
    if (may_have_more_) fail(ErrorKind::usage, fmt::format("--columns {}: nothing may follow ...", columns));
    if (name == "...") {
      may_have_more_ = true;
      continue;
    }
    const auto* found = std::ranges::find(kColumns, name, [](const auto& column) { return std::string(column.first); });
    const auto refuse = [&](const char* why) {
      fail(ErrorKind::usage, fmt::format("--columns {}: '{}' {}", columns, printable(name), why));
    };
    if (found == kColumns.end())
      refuse(
          "is not a column; give source, tag, target-tag, prefix, and - for a column to skip, in the order of the "
          "columns, and ... at the end to skip the rest");
    const Member member = found->second;
    if (member && std::ranges::find(columns_, member) != columns_.end()) refuse("is given twice");
    if (member && !(all_.*member).empty()) refuse("is also set by an option for all lines; leave out that option");
    columns_.push_back(member);
  }
  if (std::ranges::find(columns_, &TaggedLine::text) == columns_.end())
    fail(ErrorKind::usage, fmt::format("--columns {}: the column 'source' is missing", columns));
}

TaggedLine TaggedLines::parse(const std::string& line, const std::string& where) const {
  TaggedLine parsed = all_;
  if (line == InputLines::kBad) return parsed;
  if (columns_.empty()) {
    parsed.text = line;
    return parsed;
  }
  const std::vector<std::string_view> values = split(line, '\t');
  const bool too_many = values.size() > columns_.size();
  if (values.size() < columns_.size() || (too_many && !may_have_more_))
    fail(ErrorKind::data,
         fmt::format("{}: found {}, but --columns {} needs {}, separated by tabs{}", where,
                     values.size() == 1 ? "one column" : fmt::format("{} columns", values.size()), names_,
                     columns_.size(), too_many ? "; to skip further columns, end --columns with ,..." : ""));
  for (size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i]) parsed.*columns_[i] = values[i];
  return parsed;
}

void TaggedLines::check(const std::string& line, const std::string& where, const Translator& translator) const {
  if (columns_.empty()) return;
  const TaggedLine parsed = parse(line, where);
  check_tags(parsed.tag, translator.source_tokenizer(), where, ErrorKind::data);
  check_tags(parsed.target_tag, translator.target_tokenizer(), where, ErrorKind::data);
  if (parsed.prefix.empty()) return;
  const int64_t length = std::ssize(translator.encode(parsed).prefix);
  if (length > translator.longest_prefix())
    fail(ErrorKind::data, fmt::format("{}: the target prefix has {} tokens, but the limit of this model is {}", where,
                                      length, translator.longest_prefix()));
}

}  // namespace weft
