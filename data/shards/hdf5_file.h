// data/shards/hdf5_file.h: reads the HDF5 of shards: scalar attributes and one-dimensional datasets of numbers.
//
// dataset() refuses what docs/formats/shard-format.md forbids: links, external or virtual storage, other filters, other
// types. Every Error has the kind data and names the file and the dataset. Several threads may read different files at
// the same time; a lock serializes their calls into the library.
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

  // Reads elements [first, first + count). A value outside the range of the type becomes the nearest value in this
  // range.
  void read(uint64_t first, uint64_t count, int32_t* out) const;
  void read(uint64_t first, uint64_t count, uint64_t* out) const;
  void read(uint64_t first, uint64_t count, float* out) const;  // only for datasets of reals

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

  std::vector<std::string> datasets() const;  // datasets in the root group; throws if it contains other things
  uint64_t number_attribute(const char* attribute) const;
  std::string text_attribute(const char* attribute) const;
  enum class Numbers { integers, reals };
  Hdf5Dataset dataset(const char* dataset, Numbers numbers = Numbers::integers) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
