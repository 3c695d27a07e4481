// data/regular_file.cpp: opens a file without blocking, then checks that it is a regular file.
#include "data/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "tensor/error.h"

namespace weft {

FileDescriptor open_regular_file(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const bool is_absent = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
  if (!file)
    fail(is_absent ? ErrorKind::data : ErrorKind::io, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  struct stat status;
  if (fstat(file.get(), &status) != 0)
    fail(ErrorKind::io, fmt::format("cannot read the file status of {}: {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) fail(ErrorKind::data, fmt::format("{} is not a regular file", path));
  return file;
}

}  // namespace weft
