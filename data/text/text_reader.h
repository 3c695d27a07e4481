// data/text/text_reader.h: reads the lines of a text file, which may be packed with gzip, zstd or xz.
//
// A line ends with LF or CR LF; the last line may lack this end. A byte order mark at the start is skipped. A data
// Error with file and line reports invalid UTF-8, a NUL byte, a line above 1 MiB, and damaged or truncated packed data.
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
