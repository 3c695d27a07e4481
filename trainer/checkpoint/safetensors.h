// trainer/checkpoint/safetensors.h: writes and reads the safetensors format: 8-byte length, JSON header, raw bytes.
//
// docs/formats/checkpoint-format.md specifies contents and checks. The writer streams, so no tensor is copied. The
// reader checks each count and offset against the file's size before using it. A matrix in int8, "NAME", has a scale
// for each row (tensor/op/quantize.h) in another tensor, "NAME.scale". The reader multiplies both.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/checkpoint/checked_file.h"

namespace weft {

struct SafetensorsEntry {
  std::string dtype;           // "F32", "BF16", ...
  std::vector<int64_t> shape;  // []: a single element
  uint64_t begin = 0;          // byte offset from the end of the header
  uint64_t end = 0;
  // Of a matrix in int8: elements in a row, and the byte offset of the scales. 0: not a matrix in int8.
  int64_t int8_row = 0;
  uint64_t scales_begin = 0;
};

std::string str(const std::vector<int64_t>& shape);  // "[3, 8]"
uint64_t bytes_of_dtype(const std::string& dtype);   // 0: unknown

struct FloatTensor {
  const std::string &tensor, &dtype;  // the name is for messages
};
// Reads `count` f32 values from byte `offset` of `file`. F16 and BF16 are widened exactly, other types are refused.
void read_floats(const CheckedReader& file, const FloatTensor& which, uint64_t offset, int64_t count, float* out);

using SafetensorsEntries = std::map<std::string, SafetensorsEntry>;
using Int8Rows = std::map<std::string, int64_t>;  // elements in a row, for each matrix that is stored in int8

class SafetensorsWriter {  // writes tensors in byte order of their names, in F32 or int8
 public:
  SafetensorsWriter(const std::string& path, const std::map<std::string, std::vector<int64_t>>& tensors,
                    const std::map<std::string, std::string>& metadata = {}, const Int8Rows& int8_rows = {});
  const SafetensorsEntries& entries() const { return entries_; }  // with those of scales
  void write(const float* data, int64_t count);                   // writes the next `count` elements of `tensors`
  FileDigest finish();                                            // REQUIRES: all elements have been written

 private:
  void write_int8(const std::string& name, int64_t row, std::span<const float> data);
  void begin_tensor();

  DigestWriter file_;
  SafetensorsEntries entries_;
  SafetensorsEntries::const_iterator current_;
  int64_t left_ = 0;                                  // elements of the current tensor
  std::vector<float> row_;                            // the start of a row in int8
  std::map<std::string, std::vector<float>> scales_;  // by name of their tensor
};

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
