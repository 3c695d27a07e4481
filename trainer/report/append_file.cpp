// trainer/report/append_file.cpp: opens and truncates a file, and appends to it.
#include "trainer/report/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tensor/error.h"

namespace weft {

AppendFile::AppendFile(const std::string& path, size_t size) : path_(path) {
  // Rejects a link, because its target would be truncated, and a pipe, because it would wait for a reader.
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (file_ < 0) fail(ErrorKind::io, fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  if (::ftruncate(file_, static_cast<off_t>(size)) != 0) {
    const int error = errno;
    ::close(file_);
    fail(ErrorKind::io, fmt::format("cannot truncate '{}': {}", path, std::strerror(error)));
  }
}

AppendFile::~AppendFile() {
  if (file_ >= 0) ::close(file_);
}

bool AppendFile::write() {
  while (!kept_.empty()) {
    const ssize_t written = ::write(file_, kept_.data(), kept_.size());
    if (written < 0 && errno != EINTR) return false;
    kept_.erase(0, static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return true;
}

void AppendFile::flush() {
  if (!write()) fail(ErrorKind::io, fmt::format("cannot write '{}': {}", path_, std::strerror(errno)));
}

}  // namespace weft
