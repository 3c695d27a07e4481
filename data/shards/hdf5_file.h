// data/shards/hdf5_file.h: reads the plain HDF5 of shards: scalar attributes and one-dimensional numbers.
//
// Opening a dataset refuses what docs/formats/shard-format.md forbids: links, external or virtual storage, foreign
// filters, other types. Every Error has the kind data and names the file and the dataset. Several threads may read,
// each its own file; calls into the library are serialized.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft {

class Hdf5Dataset {
 public:
  ~Hdf5Dataset();
  Hdf5Dataset(Hdf5Dataset&&) noexcept;

  const std::string& name() const;  // "shard-00000.h5, dataset source_pieces"
  uint64_t size() const;

  // Reads elements [first, first + count). A value outside the type's range becomes the nearest one inside.
  void read(uint64_t first, uint64_t count, int32_t* out) const;
  void read(uint64_t first, uint64_t count, uint64_t* out) const;
  void read(uint64_t first, uint64_t count, float* out) const;  // only for `reals`

 private:
  friend class Hdf5File;
  struct Impl;
  explicit Hdf5Dataset(std::unique_ptr<Impl> impl);
  void read(uint64_t first, uint64_t count, int64_t memory_type, void* out) const;
  std::unique_ptr<Impl> impl_;
};

class Hdf5File {
 public:
  // Opens the file of `descriptor`, which may be closed afterwards. Messages contain `name`.
  Hdf5File(int descriptor, std::string name);
  ~Hdf5File();
  Hdf5File(Hdf5File&&) noexcept;

  std::vector<std::string> datasets() const;  // names in the root group; throws if it contains anything else
  uint64_t number_attribute(const char* attribute) const;
  std::string text_attribute(const char* attribute) const;
  enum class Numbers { integers, reals };
  Hdf5Dataset dataset(const char* dataset, Numbers numbers = Numbers::integers) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
