// trainer/checkpoint/checked_file.h: files with a known SHA-256. The writer computes the digest as it writes;
// the reader checks it on the same descriptor that it reads from afterwards.
//
// Reading accepts only regular files, and no symbolic links. A failed system call is an Error of kind io that
// names path and cause; a missing or changed file is one of kind checkpoint.
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

class DigestWriter {  // writes a new file sequentially, in a folder that is committed as a whole
 public:
  explicit DigestWriter(std::string path);  // the path must not exist
  void write(const void* data, size_t bytes);
  FileDigest finish();  // fsync and close: the content is then on disk

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
