// trainer/checkpoint/safetensors.h: the public safetensors format: an 8-byte length, a JSON header, then the tensors'
// raw bytes.
//
// docs/checkpoint-format.md specifies content and checks. The writer streams, so no tensor is copied. The
// reader trusts nothing: it checks each count and offset against the file's size before use.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/checkpoint/checked_file.h"

namespace weft {

struct SafetensorsEntry {
  std::string dtype;           // "F32", "BF16", ...
  std::vector<int64_t> shape;  // [] is one element
  uint64_t begin = 0;          // bytes, from the end of the header
  uint64_t end = 0;
};

std::string str(const std::vector<int64_t>& shape);  // "[3, 8]"

class SafetensorsWriter {  // of F32 tensors, in byte order of their names
 public:
  SafetensorsWriter(const std::string& path, const std::map<std::string, std::vector<int64_t>>& tensors,
                    const std::map<std::string, std::string>& metadata = {});
  void write(const float* data, int64_t count);  // the next `count` elements of the file
  FileDigest finish();                           // all bytes must have been written

 private:
  DigestWriter file_;
  uint64_t bytes_left_ = 0;
};

using SafetensorsEntries = std::map<std::string, SafetensorsEntry>;

// The JSON header of a file with that many bytes after it; `path` is for the error messages.
SafetensorsEntries parse_safetensors_header(const std::string& header, uint64_t data_bytes, const std::string& path);

class SafetensorsFile {
 public:
  // With `expected`, the file's digest is verified before the header is parsed.
  explicit SafetensorsFile(const std::string& path, const FileDigest* expected = nullptr);

  const std::string& path() const { return file_.path(); }
  const SafetensorsEntries& entries() const { return entries_; }
  void read(const std::string& name, float* out) const;  // F32; F16 and BF16 are widened, which is exact

 private:
  CheckedReader file_;
  uint64_t data_begin_ = 0;
  SafetensorsEntries entries_;
};

}  // namespace weft
