// data/text/text_reader.h: reads the lines of a text, plain or packed with gzip, zstd or xz, as valid UTF-8.
//
// A line ends with LF or CR LF; the last one may lack its end. A byte order mark at the start is skipped. Invalid
// UTF-8, a NUL byte, a line above 16 MiB, damaged or truncated packed data, and other kinds of files (ZIP, UTF-16 ...)
// throw a data Error with file and line. It is a BadLine if only that line is bad.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/text/text_line.h"

namespace weft {

class TextReader {
 public:
  explicit TextReader(const std::string& path);  // REQUIRES: a regular file; anything else throws a data Error
  static TextReader standard_input();            // may be a file, a pipe or a terminal
  ~TextReader();
  TextReader(TextReader&&) noexcept;
  TextReader& operator=(TextReader&&) noexcept;

  bool next(std::string& line);  // returns false at the end
  bool ready();                  // true if next() will not wait for input
  int64_t num_lines() const;     // number of lines read so far
  int64_t bytes_read() const;    // position in the file on disk, approximately
  int64_t file_bytes() const;    // 0 for a pipe
  const std::string& path() const;

 private:
  struct Impl;
  explicit TextReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
