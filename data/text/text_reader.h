// data/text/text_reader.h: the lines of a text file, plain or packed with gzip, zstd or xz, as valid UTF-8.
//
// A line ends with LF or CR LF; the last one may lack its end. A byte order mark at the start is skipped. Invalid
// UTF-8, a NUL byte, a line above 1 MiB, and damaged or truncated packed data throw a data Error with file and line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace weft {

class TextReader {
 public:
  explicit TextReader(const std::string& path);
  ~TextReader();
  TextReader(TextReader&&) noexcept;

  bool next(std::string& line);  // returns false at the end
  int64_t num_lines() const;     // read so far
  int64_t bytes_read() const;    // position in the file on disk, approximately
  int64_t file_bytes() const;
  const std::string& path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
