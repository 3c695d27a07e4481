// trainer/report/append_file.h: appends to a file during a run, and keeps bytes in memory while the disk is full.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

class AppendFile {
 public:
  // Opens or creates the file `path`, and truncates it to `size` bytes. Throws an Error of kind io if this fails, or if
  // `path` is a link or not a regular file.
  AppendFile(const std::string& path, size_t size);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void keep(std::string_view bytes) { kept_ += bytes; }  // in memory, until the next write()
  // Writes the kept bytes. On failure, returns false, keeps the unwritten bytes, and leaves the reason in errno.
  bool write();
  void flush();  // writes the kept bytes, or throws an Error of kind io

 private:
  std::string path_, kept_;
  int file_ = -1;
};

}  // namespace weft
