// trainer/report/append_file.h: a file that grows during a run, and whose disk may be full for a while.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

class AppendFile {
 public:
  // Opens `path`, which is created if necessary, and cuts it to `size` bytes. Throws an Error of kind io if that fails,
  // or if the path is a link or not a plain file.
  AppendFile(const std::string& path, size_t size);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void keep(std::string_view bytes) { kept_ += bytes; }  // until the next write()
  // Writes the kept bytes. If that fails, returns false, keeps the bytes and leaves the reason in errno.
  bool write();
  void flush();  // writes the kept bytes, or throws an Error of kind io

 private:
  std::string path_, kept_;
  int file_ = -1;
};

}  // namespace weft
