// trainer/checkpoint/checked_file.h: files whose SHA-256 is known: written once with the digest taken on the way, and
// opened for reading with the digest checked on the very descriptor that is read afterwards.
//
// Reading refuses symbolic links and whatever is not a regular file. What the system refuses is an Error of kind io
// that names path and cause; a file that is missing, or is not what was written, is one of kind checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/atomic_file.h"
#include "data/sha256.h"

namespace weft {

struct FileDigest {
  uint64_t size = 0;
  std::string sha256;  // 64 lower-case hexadecimal digits
};

class DigestWriter {  // a new file, from beginning to end, inside a folder that is committed as a whole
 public:
  explicit DigestWriter(std::string path);  // the path must not exist
  void write(const void* data, size_t bytes);
  FileDigest finish();  // fsync and close: after it the content is on the disk

 private:
  std::string path_;
  FileDescriptor file_;
  Sha256 hash_;
  uint64_t size_ = 0;
};

FileDigest write_digested(const std::string& path, std::string_view content);

class CheckedReader {
 public:
  explicit CheckedReader(std::string path);
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  void read(uint64_t offset, void* data, size_t bytes) const;  // all of them, or an Error
  std::string read_all() const;                                // small files only: above 64 MB is an Error
  void verify_size(const FileDigest& expected) const;
  void verify(const FileDigest& expected) const;  // size and SHA-256; reads the whole file

 private:
  std::string path_;
  FileDescriptor file_;
  uint64_t size_ = 0;
};

}  // namespace weft
