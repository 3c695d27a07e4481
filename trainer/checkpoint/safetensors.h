// trainer/checkpoint/safetensors.h: writes and reads the safetensors format: 8-byte length, JSON header, raw bytes.
//
// docs/formats/checkpoint-format.md specifies contents and checks. The writer streams, so no tensor is copied. The
// reader checks each count and offset against the file's size before using it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trainer/checkpoint/checked_file.h"

namespace weft {

struct SafetensorsEntry {
  std::string dtype;           // "F32", "BF16", ...
  std::vector<int64_t> shape;  // []: a single element
  uint64_t begin = 0;          // byte offset from the end of the header
  uint64_t end = 0;
};

std::string str(const std::vector<int64_t>& shape);  // "[3, 8]"
uint64_t bytes_of_dtype(const std::string& dtype);   // 0: unknown

struct FloatTensor {
  const std::string &tensor, &dtype;  // the name is for messages
};
// Reads `count` f32 values from byte `offset` of `file`. F16 and BF16 are widened exactly, other types are refused.
void read_floats(const CheckedReader& file, const FloatTensor& which, uint64_t offset, int64_t count, float* out);

class SafetensorsWriter {  // writes F32 tensors in byte order of their names
 public:
  SafetensorsWriter(const std::string& path, const std::map<std::string, std::vector<int64_t>>& tensors,
                    const std::map<std::string, std::string>& metadata = {});
  void write(const float* data, int64_t count);  // writes the next `count` elements of the file
  FileDigest finish();                           // REQUIRES: all bytes have been written

 private:
  DigestWriter file_;
  uint64_t bytes_left_ = 0;
};

using SafetensorsEntries = std::map<std::string, SafetensorsEntry>;

// Parses the JSON header of a file with `data_bytes` bytes of data after the header. Error messages contain `path`.
SafetensorsEntries parse_safetensors_header(const std::string& header, uint64_t data_bytes, const std::string& path);

class SafetensorsFile {
 public:
  // If `expected` is given, verifies the file's digest before parsing the header.
  explicit SafetensorsFile(const std::string& path, const FileDigest* expected = nullptr);

  const std::string& path() const { return file_->path(); }
  const SafetensorsEntries& entries() const { return entries_; }
  std::shared_ptr<const CheckedReader> file() const { return file_; }
  uint64_t data_begin() const { return data_begin_; }  // byte at which the offsets of the entries begin
  // Write f32 values to `out` as read_floats() does: the whole tensor, or `count` values from index `first`.
  void read(const std::string& name, float* out) const;
  void read(const std::string& name, int64_t first, int64_t count, float* out) const;

 private:
  const SafetensorsEntry& entry(const std::string& name) const;

  std::shared_ptr<const CheckedReader> file_;
  uint64_t data_begin_ = 0;
  SafetensorsEntries entries_;
};

}  // namespace weft
