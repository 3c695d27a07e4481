// data/shards/hdf5_handle.cpp: locks HDF5, and converts its error stack to one line.
#include "data/shards/hdf5_handle.h"

#include "tensor/error.h"

namespace weft {
namespace {

std::recursive_mutex& hdf5_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

std::string innermost_error() {
  std::string text = "no reason given";
  const auto keep_first = [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
    if (n == 0 && error->desc) *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  return text;
}

}  // namespace

Hdf5Lock::Hdf5Lock() : lock_(hdf5_mutex()) {
  static const bool no_plugins = H5PLset_loading_state(0) >= 0;  // a shard must not make the library load code
  require(no_plugins, ErrorKind::internal, "cannot switch off HDF5's plugins");
  thread_local bool quiet = false;
  if (!quiet) quiet = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
}

void Hdf5Handle::reset() {
  if (id_ < 0) return;
  const Hdf5Lock lock;
  close_(std::exchange(id_, -1));
}

hid_t check_hdf5(int64_t status, const std::string& name, const char* what) {
  if (status < 0) fail(ErrorKind::data, fmt::format("{}: cannot {} ({})", name, what, innermost_error()));
  return status;
}

Hdf5Handle check_hdf5(hid_t id, Hdf5Handle::Close close, const std::string& name, const char* what) {
  check_hdf5(id, name, what);
  return Hdf5Handle(id, close);
}

}  // namespace weft
