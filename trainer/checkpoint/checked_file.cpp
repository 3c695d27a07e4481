// trainer/checkpoint/checked_file.cpp: makes the system calls that read and write files with a digest.
#include "trainer/checkpoint/checked_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr uint64_t kSmallFileBytes = 64 << 20;

[[noreturn]] void fail_io(const char* what, const std::string& path) {
  const int error = errno;
  const bool no_such_file = error == ENOENT || error == ENOTDIR || error == ELOOP;
  fail(no_such_file ? ErrorKind::checkpoint : ErrorKind::io,
       fmt::format("cannot {} {}: {}", what, path, error == ELOOP ? "it is a symbolic link" : std::strerror(error)));
}

}  // namespace

DigestWriter::DigestWriter(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666)) {
  if (!file_) fail(ErrorKind::io, fmt::format("cannot create {}: {}", path_, std::strerror(errno)));
}

void DigestWriter::write(const void* data, size_t bytes) {
  write_all(file_.get(), data, bytes, path_);
  hash_.update(data, bytes);
  size_ += bytes;
}

FileDigest DigestWriter::finish() {
  if (fsync(file_.get()) != 0)
    fail(ErrorKind::io, fmt::format("cannot write {} to disk (fsync): {}", path_, std::strerror(errno)));
  file_.reset();
  return {size_, hash_.hex()};
}

FileDigest write_digested(const std::string& path, std::string_view content) {
  DigestWriter writer(path);
  writer.write(content.data(), content.size());
  return writer.finish();
}

CheckedReader::CheckedReader(std::string path)
    : path_(std::move(path)),  // O_NONBLOCK: opening a named pipe must not block
      file_(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
  if (!file_) fail_io("open", path_);
  struct stat status;
  if (fstat(file_.get(), &status) != 0) fail_io("access", path_);
  if (!S_ISREG(status.st_mode)) fail(ErrorKind::checkpoint, fmt::format("{} is not a regular file", path_));
  size_ = static_cast<uint64_t>(status.st_size);
}

void CheckedReader::read(uint64_t offset, void* data, size_t bytes) const {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = pread(file_.get(), next, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io("read", path_);
    if (got == 0) fail(ErrorKind::checkpoint, fmt::format("{} is truncated: it ends at byte {}", path_, offset));
    next += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
}

std::string CheckedReader::read_all() const {
  if (size_ > kSmallFileBytes)
    fail(ErrorKind::checkpoint, fmt::format("{} is too large for a file of this kind: {} bytes", path_, size_));
  std::string text(size_, '\0');
  read(0, text.data(), text.size());
  return text;
}

void CheckedReader::verify_size(const FileDigest& expected) const {
  if (size_ != expected.size)
    fail(ErrorKind::checkpoint,
         fmt::format("{} is damaged: its size is {} bytes, but the manifest lists {}", path_, size_, expected.size));
}

void CheckedReader::verify(const FileDigest& expected) const {
  verify_size(expected);
  if (sha256_of_descriptor(file_.get(), path_) != expected.sha256)
    fail(ErrorKind::checkpoint, fmt::format("{} is damaged: its SHA-256 does not match the manifest", path_));
}

}  // namespace weft
