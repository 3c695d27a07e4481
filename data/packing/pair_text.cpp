// data/packing/pair_text.cpp: reads a line of each file, and extracts the pair.
#include "data/packing/pair_text.h"

#include <algorithm>
#include <array>
#include <limits>

#include "data/text/invisible.h"
#include "data/text/number.h"
#include "data/text/split.h"
#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 9> kColumnNames = {
    "source", "target", "weight", "score", "tag", "target-tag", "document", "-", "..."};  // in the order of Column

float number_of(std::string_view text, float least, const char* what, const TextReader& reader) {
  text = trim(text);
  const std::optional<float> value = parse_number<float>(text);
  if (!value || *value < least)
    fail(ErrorKind::data, fmt::format("{}, line {}: {} '{}' is not a {}number", reader.path(), reader.num_lines(), what,
                                      printable(std::string(text.substr(0, 40))), least == 0 ? "non-negative " : ""));
  return *value;
}

}  // namespace

std::vector<PairText::Column> PairText::parse_columns(const std::string& names) {
  std::vector<Column> columns;
  for (const std::string& name : split_at_commas(names)) {
    const auto found = std::find(kColumnNames.begin(), kColumnNames.end(), name);
    if (found == kColumnNames.end())
      fail(ErrorKind::usage, fmt::format("--columns {}: '{}' is not a column; give source, target, weight, score, tag, "
                                         "target-tag, document and - (for unused columns) in the file's order, and ... "
                                         "at the end to skip the rest",
                                         names, name));
    const auto column = static_cast<Column>(found - kColumnNames.begin());
    if (column != Column::none && std::find(columns.begin(), columns.end(), column) != columns.end())
      fail(ErrorKind::usage, fmt::format("--columns {}: '{}' is given twice", names, name));
    if (!columns.empty() && columns.back() == Column::rest)
      fail(ErrorKind::usage, fmt::format("--columns {}: nothing may follow ...", names));
    columns.push_back(column);
  }
  for (const Column side : {Column::source, Column::target})
    if (std::find(columns.begin(), columns.end(), side) == columns.end())
      fail(ErrorKind::usage,
           fmt::format("--columns {}: '{}' is missing", names, kColumnNames[static_cast<size_t>(side)]));
  return columns;
}

std::vector<std::pair<const std::string*, std::vector<PairText::Column>>> PairText::inputs_of(const PairFiles& files) {
  std::vector<std::pair<const std::string*, std::vector<Column>>> inputs;
  if (files.tsv.empty())
    inputs = {{&files.source, {Column::source}}, {&files.target, {Column::target}}};
  else
    inputs = {{&files.tsv, parse_columns(files.columns)}};
  const std::vector<Column> columns = inputs[0].second;
  const auto is_given = [&](const std::string& value, Column column, const char* option) {
    if (!value.empty() && std::find(columns.begin(), columns.end(), column) != columns.end())
      fail(ErrorKind::usage, fmt::format("{}: --columns already names such a column: leave out this option", option));
    return !value.empty();
  };
  if (is_given(files.weights, Column::weight, "--weights")) inputs.push_back({&files.weights, {Column::weight}});
  if (is_given(files.scores, Column::score, "--scores")) inputs.push_back({&files.scores, {Column::score}});
  is_given(files.tag, Column::tag, "--tag");
  is_given(files.target_tag, Column::target_tag, "--target-tag");
  return inputs;
}

PairColumns columns_of(const PairFiles& files) {
  PairColumns found;
  for (const auto& [file, columns] : PairText::inputs_of(files))
    for (const PairText::Column column : columns) {
      found.weight |= column == PairText::Column::weight;
      found.score |= column == PairText::Column::score;
    }
  return found;
}

bool has_documents(const PairFiles& files) {
  for (const auto& [file, columns] : PairText::inputs_of(files))
    if (std::find(columns.begin(), columns.end(), PairText::Column::document) != columns.end()) return true;
  return false;
}

PairText::PairText(const PairFiles& files)
    : column_names_(files.columns), tag_(files.tag), target_tag_(files.target_tag) {
  for (auto& [file, columns] : inputs_of(files)) inputs_.push_back({.text = TextReader(*file), .columns = columns});
}

bool PairText::next(TextPair& pair) {
  pair.begins_document = false;
  pair.tag = tag_;
  pair.target_tag = target_tag_;
  const bool more = read(inputs_[0], pair);
  for (size_t i = 1; i < inputs_.size(); ++i)
    if (read(inputs_[i], pair) != more) fail_uneven();
  pair.raw_target.clear();
  if (more && has_invisible(pair.source)) pair.source = without_invisible(pair.source);
  if (more && has_invisible(pair.target)) pair.raw_target = std::exchange(pair.target, without_invisible(pair.target));
  return more;
}

bool PairText::read(Input& input, TextPair& pair) {
  const bool whole_lines = input.columns.size() == 1;
  if (whole_lines && input.columns[0] == Column::source) return input.text.next(pair.source);
  if (whole_lines && input.columns[0] == Column::target) return input.text.next(pair.target);
  if (!input.text.next(line_)) return false;
  if (whole_lines)
    take(input.columns[0], line_, input.text, pair);
  else
    split(input, pair);
  return true;
}

void PairText::take(Column column, std::string_view value, const TextReader& text, TextPair& pair) {
  if (column == Column::source) pair.source = value;
  if (column == Column::target) pair.target = value;
  if (column == Column::weight) pair.weight = number_of(value, 0, "weight", text);
  if (column == Column::score) pair.score = number_of(value, std::numeric_limits<float>::lowest(), "score", text);
  if (column == Column::tag) pair.tag = value;
  if (column == Column::target_tag) pair.target_tag = value;
  if (column == Column::document && value != document_) {
    pair.begins_document = true;
    document_ = value;
  }
}

void PairText::split(const Input& input, TextPair& pair) {
  const bool may_have_more = input.columns.back() == Column::rest;
  const size_t wanted = input.columns.size() - (may_have_more ? 1 : 0);
  size_t found = 0;
  for (const std::string_view value : weft::split(line_, '\t')) {
    if (found < wanted) take(input.columns[found], value, input.text, pair);
    ++found;
  }
  if (found == wanted || (found > wanted && may_have_more)) return;
  fail(ErrorKind::data,
       fmt::format("{}, line {}: found {}, but --columns {} needs {}, separated by tabs{}", input.text.path(),
                   input.text.num_lines(), found == 1 ? "one column" : fmt::format("{} columns", found), column_names_,
                   wanted, found > wanted ? "; to skip further columns, end --columns with ,..." : ""));
}

void PairText::fail_uneven() {
  for (Input& input : inputs_)
    while (input.text.next(line_)) {
    }
  const auto other = std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& input) {
    return input.text.num_lines() != inputs_[0].text.num_lines();
  });
  require(other != inputs_.end(), ErrorKind::internal, "the files have the same number of lines");
  fail(ErrorKind::data,
       fmt::format("{} has {} lines, but {} has {}: line i of each file must belong to pair i", inputs_[0].text.path(),
                   inputs_[0].text.num_lines(), other->text.path(), other->text.num_lines()));
}

int64_t PairText::num_pairs() const { return inputs_[0].text.num_lines(); }

int64_t PairText::bytes_read() const {
  int64_t sum = 0;
  for (const Input& input : inputs_) sum += input.text.bytes_read();
  return sum;
}

int64_t PairText::file_bytes() const {
  int64_t sum = 0;
  for (const Input& input : inputs_) sum += input.text.file_bytes();
  return sum;
}

std::string PairText::name() const {
  std::string names;
  for (const Input& input : inputs_) names += (names.empty() ? "" : " and ") + input.text.path();
  return names;
}

std::vector<TextPair> read_some_pairs(const std::function<bool(TextPair&)>& next) {
  constexpr size_t kPairs = 1024, kBytes = 1 << 20;
  std::vector<TextPair> pairs;
  TextPair pair;
  for (size_t bytes = 0; pairs.size() < kPairs && bytes < kBytes && next(pair);) {
    bytes += pair.source.size() + pair.target.size();
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace weft
