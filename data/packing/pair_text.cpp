// data/packing/pair_text.cpp: reads a line of each file, and takes the pair out of it.
#include "data/packing/pair_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 3> kColumnNames = {"source", "target", "-"};  // in the order of Column

template <typename Visit>
void for_each_part(std::string_view text, char separator, Visit visit) {
  for (;;) {
    const size_t end = text.find(separator);
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::vector<PairText::Column> PairText::columns_of(const std::string& names) {
  std::vector<Column> columns;
  for_each_part(names, ',', [&](std::string_view name) {
    const auto found = std::find(kColumnNames.begin(), kColumnNames.end(), name);
    if (found == kColumnNames.end())
      fail(ErrorKind::usage, fmt::format("--columns {}: '{}' is no column; name source and target in the file's order, "
                                         "and - for each other column before them",
                                         names, name));
    const auto column = static_cast<Column>(found - kColumnNames.begin());
    if (column != Column::none && std::find(columns.begin(), columns.end(), column) != columns.end())
      fail(ErrorKind::usage, fmt::format("--columns {}: '{}' is there twice", names, name));
    columns.push_back(column);
  });
  for (const Column side : {Column::source, Column::target})
    if (std::find(columns.begin(), columns.end(), side) == columns.end())
      fail(ErrorKind::usage,
           fmt::format("--columns {}: '{}' is missing", names, kColumnNames[static_cast<size_t>(side)]));
  return columns;
}

PairText::PairText(const PairFiles& files) : column_names_(files.columns) {
  if (!files.tsv.empty()) {
    inputs_.push_back({.text = TextReader(files.tsv), .columns = columns_of(files.columns)});
  } else {
    inputs_.push_back({.text = TextReader(files.source), .columns = {Column::source}});
    inputs_.push_back({.text = TextReader(files.target), .columns = {Column::target}});
  }
}

bool PairText::next(TextPair& pair) {
  const bool more = read(inputs_[0], pair);
  for (size_t i = 1; i < inputs_.size(); ++i)
    if (read(inputs_[i], pair) != more) fail_uneven();
  return more;
}

bool PairText::read(Input& input, TextPair& pair) {
  if (input.columns.size() == 1) return input.text.next(input.columns[0] == Column::source ? pair.source : pair.target);
  if (!input.text.next(line_)) return false;
  split(input, pair);
  return true;
}

void PairText::split(const Input& input, TextPair& pair) const {
  size_t column = 0;
  for_each_part(line_, '\t', [&](std::string_view value) {
    if (column == input.columns.size()) return;
    const Column kind = input.columns[column++];
    if (kind == Column::source) pair.source = value;
    if (kind == Column::target) pair.target = value;
  });
  if (column < input.columns.size())
    fail(ErrorKind::data,
         fmt::format("{}, line {}: {} where --columns {} wants {}, with a tab between them", input.text.path(),
                     input.text.num_lines(), column == 1 ? "one column" : fmt::format("{} columns", column),
                     column_names_, input.columns.size()));
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
       fmt::format("{} has {} lines and {} has {}: line i of one must translate line i of the other",
                   inputs_[0].text.path(), inputs_[0].text.num_lines(), other->text.path(), other->text.num_lines()));
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

}  // namespace weft
