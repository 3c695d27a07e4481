// launch/input_lines.h: reads the lines that a command translates, from files or standard input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/text/text_reader.h"
#include "trainer/config/fields.h"

namespace weft {

// What happens to a line that cannot be translated, because it is not UTF-8, contains NUL bytes, is longer than 16 MiB,
// or has wrong columns or tags.
enum class BadLines : uint8_t { error, empty };
constexpr EnumNames<BadLines, 2> enum_names(BadLines) {
  return {{{"error", BadLines::error}, {"empty", BadLines::empty}}};
}

class InputLines {
 public:
  static const std::string kBad;  // stands for a line that cannot be translated; it is not valid text

  // Reads one file after the other, plain or compressed; without files, standard input. Throws a data Error if a file
  // cannot be read.
  InputLines(std::vector<std::string> files, BadLines bad_lines);

  bool next(std::string& line);  // returns false at the end; a bad line becomes kBad, or throws a data Error
  bool ready() { return reader_.ready(); }
  std::string where() const;  // "train.en, line 17": the line that next() returned
  // Turns the line that next() returned into kBad for the reason `error`, or throws the error.
  void reject(std::string& line, const Error& error);

  double share_read() const;  // of the bytes of all files; 0 for a pipe
  void print_bad_lines() const;

 private:
  std::vector<std::string> files_;
  BadLines bad_lines_;
  size_t file_ = 0;  // the file that is being read
  TextReader reader_;
  int64_t bytes_before_ = 0, all_bytes_ = 0;
  int64_t num_bad_ = 0;
  std::vector<std::string> first_bad_;  // messages
};

}  // namespace weft
