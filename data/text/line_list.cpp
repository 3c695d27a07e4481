// data/text/line_list.cpp: parses the list.
#include "data/text/line_list.h"

#include <algorithm>

#include "data/text/number.h"
#include "data/text/text_reader.h"
#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {

LineList read_line_list(const std::string& path) {
  LineList list;
  TextReader lines(path);
  for (std::string line; lines.next(line);) {
    std::string_view text = trim(line);
    if (text.empty()) continue;
    const bool is_comment = text[0] == '#';
    if (is_comment) text = trim(text.substr(1));
    const auto number = parse_number<int64_t>(text.substr(0, text.find_first_of("\t ")));
    if (is_comment) {
      if (number && text.ends_with(" pairs")) list.num_pairs = *number;
      continue;
    }
    if (!number || *number < 1)
      fail(ErrorKind::data, fmt::format("{}, line {}: '{}' does not begin with the number of a line, from 1", path,
                                        lines.num_lines(), line.substr(0, 40)));
    list.numbers.insert(*number - 1);
  }
  return list;
}

void require_list_of(const std::string& path, int64_t num_pairs) {
  const LineList list = read_line_list(path);
  const auto beyond = std::ranges::find_if(list.numbers, [&](int64_t number) { return number >= num_pairs; });
  if (list.num_pairs != 0 && list.num_pairs != num_pairs)
    fail(ErrorKind::data, fmt::format("{} lists lines of a text of {} pairs, but this text has {}: audit this text",
                                      path, list.num_pairs, num_pairs));
  if (beyond != list.numbers.end())
    fail(ErrorKind::data,
         fmt::format("{} lists line {}, but the text has only {} pairs", path, *beyond + 1, num_pairs));
}

std::string size_of_text(int64_t num_pairs) { return fmt::format("# {} pairs", num_pairs); }

}  // namespace weft
