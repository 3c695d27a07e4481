// data/shards/hdf5_image.cpp: uses HDF5's in-memory driver, and takes over its buffer when the file is closed.
//
// H5Fget_file_image is not used, because in 1.10 it clears the superblock's status flags but keeps their checksum.
#include "data/shards/hdf5_image.h"

#include <algorithm>
#include <cstring>

#include "data/shards/hdf5_handle.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr hsize_t kChunkElements = 16384;     // elements: a page of pairs touches one or two chunks
constexpr size_t kMemoryIncrement = 1 << 20;  // growth of the in-memory file
const std::string kName = "a shard in memory";

// Returns plain memory functions, except that the buffer of a closing file goes to `*udata` instead of free().
H5FD_file_image_callbacks_t keep_buffer_in(void** buffer) {
  return {.image_malloc = [](size_t size, H5FD_file_image_op_t, void*) { return std::malloc(size); },
          .image_memcpy = [](void* to, const void* from, size_t size, H5FD_file_image_op_t,
                             void*) { return std::memcpy(to, from, size); },
          .image_realloc = [](void* old, size_t size, H5FD_file_image_op_t, void*) { return std::realloc(old, size); },
          .image_free = [](void* old, H5FD_file_image_op_t operation, void* udata) -> herr_t {
            if (operation == H5FD_FILE_IMAGE_OP_FILE_CLOSE)
              *static_cast<void**>(udata) = old;
            else
              std::free(old);
            return 0;
          },
          .udata_copy = [](void* udata) { return udata; },
          .udata_free = [](void*) -> herr_t { return 0; },
          .udata = buffer};
}

}  // namespace

struct Hdf5Image::Impl {
  void* buffer = nullptr;  // ours once the file is closed
  Hdf5Handle file;
  ~Impl() {
    file.reset();
    std::free(buffer);
  }

  void add_dataset(const char* name, hsize_t size, hid_t memory_type, hid_t file_type, bool compress,
                   const void* values) {
    const Hdf5Lock lock;
    const hsize_t chunk = std::min(size, kChunkElements);
    const Hdf5Handle space = check_hdf5(H5Screate_simple(1, &size, nullptr), H5Sclose, kName, "make a dataset");
    const Hdf5Handle list = check_hdf5(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, kName, "make a dataset");
    check_hdf5(H5Pset_chunk(list, 1, &chunk), kName, "set chunks");
    check_hdf5(H5Pset_obj_track_times(list, false), kName, "switch times off");
    if (compress) {
      check_hdf5(H5Pset_shuffle(list), kName, "set shuffle");
      check_hdf5(H5Pset_deflate(list, 1), kName, "set deflate");
    }
    check_hdf5(H5Pset_fletcher32(list), kName, "set Fletcher32");
    const Hdf5Handle dataset = check_hdf5(H5Dcreate2(file, name, file_type, space, H5P_DEFAULT, list, H5P_DEFAULT),
                                          H5Dclose, kName, "make a dataset");
    check_hdf5(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), kName, "write a dataset");
  }

  void add_attribute(const char* name, hid_t memory_type, hid_t file_type, const void* value) {
    const Hdf5Lock lock;
    const Hdf5Handle space = check_hdf5(H5Screate(H5S_SCALAR), H5Sclose, kName, "make an attribute");
    const Hdf5Handle id = check_hdf5(H5Acreate2(file, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                                     kName, "make an attribute");
    check_hdf5(H5Awrite(id, memory_type, value), kName, "write an attribute");
  }
};

Hdf5Image::Hdf5Image() : impl_(std::make_unique<Impl>()) {
  const Hdf5Lock lock;
  const Hdf5Handle access = check_hdf5(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, kName, "prepare it");
  check_hdf5(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110), kName, "set the format's version");
  check_hdf5(H5Pset_fapl_core(access, kMemoryIncrement, /*backing_store=*/false), kName, "choose memory");
  H5FD_file_image_callbacks_t callbacks = keep_buffer_in(&impl_->buffer);
  check_hdf5(H5Pset_file_image_callbacks(access, &callbacks), kName, "choose memory");
  const Hdf5Handle create = check_hdf5(H5Pcreate(H5P_FILE_CREATE), H5Pclose, kName, "prepare it");
  check_hdf5(H5Pset_obj_track_times(create, false), kName, "switch times off");
  impl_->file = check_hdf5(H5Fcreate("shard", H5F_ACC_TRUNC, create, access), H5Fclose, kName, "create it");
}
Hdf5Image::~Hdf5Image() = default;

void Hdf5Image::add_attribute(const char* name, uint64_t value) {
  impl_->add_attribute(name, H5T_NATIVE_UINT64, H5T_STD_U64LE, &value);
}

void Hdf5Image::add_attribute(const char* name, const std::string& value) {
  const Hdf5Lock lock;
  const Hdf5Handle type = check_hdf5(H5Tcopy(H5T_C_S1), H5Tclose, kName, "make an attribute");
  check_hdf5(H5Tset_size(type, value.size()), kName, "make an attribute");
  check_hdf5(H5Tset_strpad(type, H5T_STR_NULLPAD), kName, "make an attribute");
  impl_->add_attribute(name, type, type, value.data());
}

void Hdf5Image::add_offsets(const char* name, const std::vector<uint64_t>& values) {
  impl_->add_dataset(name, values.size(), H5T_NATIVE_UINT64, H5T_STD_U64LE, /*compress=*/true, values.data());
}

void Hdf5Image::add_ids(const char* name, const std::vector<int32_t>& values, int num_bytes) {
  const hid_t type = num_bytes == 1 ? H5T_STD_U8LE : num_bytes == 2 ? H5T_STD_U16LE : H5T_STD_U32LE;
  impl_->add_dataset(name, values.size(), H5T_NATIVE_INT32, type, /*compress=*/false, values.data());
}

void Hdf5Image::add_numbers(const char* name, const std::vector<float>& values) {
  impl_->add_dataset(name, values.size(), H5T_NATIVE_FLOAT, H5T_IEEE_F32LE, /*compress=*/true, values.data());
}

std::string_view Hdf5Image::finish() {
  const Hdf5Lock lock;
  check_hdf5(H5Fflush(impl_->file, H5F_SCOPE_GLOBAL), kName, "finish it");
  const size_t size =
      static_cast<size_t>(check_hdf5(H5Fget_file_image(impl_->file, nullptr, 0), kName, "take its size"));
  impl_->file.reset();
  require(impl_->buffer != nullptr, ErrorKind::internal, "HDF5 did not return the shard in memory");
  return {static_cast<const char*>(impl_->buffer), size};
}

}  // namespace weft
