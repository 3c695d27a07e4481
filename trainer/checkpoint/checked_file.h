// trainer/checkpoint/checked_file.h: writes and reads files with a known SHA-256. The writer computes the digest while
// it writes. The reader verifies the digest on the same descriptor from which it then reads.
//
// The reader accepts only regular files and rejects symbolic links. The reader throws an Error of kind io with path and
// cause if a system call fails, and an Error of kind checkpoint if a file is missing or has changed.
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

class DigestWriter {  // writes a new file sequentially, in a folder that is committed as one unit
 public:
  explicit DigestWriter(std::string path);  // REQUIRES: the path does not exist
  void write(const void* data, size_t bytes);
  FileDigest finish();  // calls fsync and close, so the content is on disk

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
  void read(uint64_t offset, void* data, size_t bytes) const;  // reads all `bytes` or throws an Error
  std::string read_all() const;                                // throws an Error if the file exceeds 64 MiB
  void verify_size(const FileDigest& expected) const;
  void verify(const FileDigest& expected) const;  // checks size and SHA-256; reads the complete file

 private:
  std::string path_;
  FileDescriptor file_;
  uint64_t size_ = 0;
};

}  // namespace weft
