// trainer/checkpoint/safetensors.h: writes and reads the safetensors format: 8-byte length, JSON header, raw bytes.
//
// docs/formats/checkpoint-format.md specifies contents and checks. The writer streams, so no tensor is copied. The
// reader checks each count and offset against the file's size before using it.
#pragma once

#include <cstdint>
#include <map>
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

  const std::string& path() const { return file_.path(); }
  const SafetensorsEntries& entries() const { return entries_; }
  // Write f32 values to `out`, and widen F16 and BF16 exactly: the whole tensor, or `count` values from index `first`.
  void read(const std::string& name, float* out) const;
  void read(const std::string& name, int64_t first, int64_t count, float* out) const;

 private:
  const SafetensorsEntry& entry(const std::string& name) const;

  CheckedReader file_;
  uint64_t data_begin_ = 0;
  SafetensorsEntries entries_;
};

}  // namespace weft
