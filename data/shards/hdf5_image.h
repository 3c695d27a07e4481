// data/shards/hdf5_image.h: makes an HDF5 file in memory, with the same bytes for the same content.
//
// The library never touches the disk. So on a full disk, our own write(2) fails, and never HDF5 while it writes
// metadata. Memory: the size of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class Hdf5Image {
 public:
  Hdf5Image();
  ~Hdf5Image();

  void add_attribute(const char* name, uint64_t value);
  void add_attribute(const char* name, const std::string& value);                     // fixed size
  void add_offsets(const char* name, const std::vector<uint64_t>& values);            // compressed
  void add_ids(const char* name, const std::vector<int32_t>& values, int num_bytes);  // 1, 2 or 4 bytes each

  void add_numbers(const char* name, const std::vector<float>& values);  // compressed

  std::string_view finish();  // returns the file's bytes, which live as long as this object; the last call

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
