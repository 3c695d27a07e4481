// tests/parity/reference_file.h: one group of a committed HDF5 file of tests/reference/pytorch/, read as plain numbers.
#pragma once

#include <hdf5.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::testing {

class ReferenceFile {
 public:
  ReferenceFile(const std::string& file, std::string group)
      : name_(file + " " + group),
        file_(open(H5Fopen((top() + "/tests/reference/pytorch/" + file).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose,
                   file)),
        group_(open(H5Gopen2(*file_, group.c_str(), H5P_DEFAULT), H5Gclose, group)) {}

  std::vector<double> numbers(const std::string& dataset) const { return read<double>(dataset, H5T_NATIVE_DOUBLE); }
  std::vector<int32_t> integers(const std::string& dataset) const { return read<int32_t>(dataset, H5T_NATIVE_INT32); }
  std::vector<std::string> names(const std::string& dataset) const {  // fixed-length text
    const Handle data = open(H5Dopen2(*group_, dataset.c_str(), H5P_DEFAULT), H5Dclose, dataset);
    const Handle type = open(H5Dget_type(*data), H5Tclose, dataset);
    const size_t length = H5Tget_size(*type), count = size_of(data);
    std::string text(count * length, '\0');
    check(H5Dread(*data, *type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), dataset);
    std::vector<std::string> result;
    for (size_t i = 0; i < count; ++i) result.emplace_back(text.substr(i * length, length).c_str());
    return result;
  }
  bool has(const std::string& attribute) const { return H5Aexists(*group_, attribute.c_str()) > 0; }
  double number(const std::string& attribute) const {
    double value = 0;
    const Handle a = open(H5Aopen(*group_, attribute.c_str(), H5P_DEFAULT), H5Aclose, attribute);
    check(H5Aread(*a, H5T_NATIVE_DOUBLE, &value), attribute);
    return value;
  }
  int64_t integer(const std::string& attribute) const { return static_cast<int64_t>(number(attribute)); }
  std::string text(const std::string& attribute) const {  // variable-length text, which the library allocates
    const Handle a = open(H5Aopen(*group_, attribute.c_str(), H5P_DEFAULT), H5Aclose, attribute);
    const Handle type = open(H5Aget_type(*a), H5Tclose, attribute);
    char* value = nullptr;
    check(H5Aread(*a, *type, &value), attribute);
    const std::string result = value;
    H5free_memory(value);
    return result;
  }

 private:
  using Handle = std::shared_ptr<const hid_t>;

  static std::string top() {  // the source tree; the environment may name another one, such as an unpacked archive
    const char* const moved = std::getenv("WEFT_SOURCE_DIR");
    return moved == nullptr ? WEFT_SOURCE_DIR : moved;
  }
  void check(int64_t result, const std::string& what) const {
    if (result < 0) throw std::runtime_error("cannot read " + what + " of tests/reference/pytorch/" + name_);
  }
  Handle open(hid_t id, herr_t (*close)(hid_t), const std::string& what) const {
    check(id, what);
    return Handle(new hid_t(id), [close](const hid_t* p) {
      close(*p);
      delete p;
    });
  }
  static size_t size_of(const Handle& data) {
    const hid_t space = H5Dget_space(*data);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    return static_cast<size_t>(count);
  }
  template <typename T>
  std::vector<T> read(const std::string& dataset, hid_t type) const {
    const Handle data = open(H5Dopen2(*group_, dataset.c_str(), H5P_DEFAULT), H5Dclose, dataset);
    std::vector<T> values(size_of(data));
    check(H5Dread(*data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), dataset);
    return values;
  }

  std::string name_;
  Handle file_, group_;
};

}  // namespace weft::testing
