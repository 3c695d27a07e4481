// data/shards/hdf5_handle.h: wraps HDF5 with identifiers that close themselves, checked calls, and one lock.
//
// It is internal to data/shards/. HDF5 may be built without thread safety, so every call is made under an Hdf5Lock. The
// lock also keeps the library from printing its error stack; check_hdf5() throws an Error with the innermost line.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace weft {

class Hdf5Lock {  // recursive; one per process
 public:
  Hdf5Lock();

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

class Hdf5Handle {  // owns an identifier; the destructor closes it and ignores errors
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Hdf5Handle() { reset(); }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }

  operator hid_t() const { return id_; }
  void reset();

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

// Throws a data Error "NAME: cannot WHAT (the library's reason)" if `status` is negative.
hid_t check_hdf5(int64_t status, const std::string& name, const char* what);
Hdf5Handle check_hdf5(hid_t id, Hdf5Handle::Close close, const std::string& name, const char* what);

}  // namespace weft
