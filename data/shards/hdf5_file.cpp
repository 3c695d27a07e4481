// data/shards/hdf5_file.cpp: opens, checks and reads with the HDF5 C library.
#include "data/shards/hdf5_file.h"

#include "data/shards/hdf5_handle.h"
#include "tensor/error.h"

namespace weft {

struct Hdf5Dataset::Impl {
  std::string name;
  Hdf5Handle id, space;
  uint64_t size = 0;
};

struct Hdf5File::Impl {
  std::string name;
  Hdf5Handle id;
};

namespace {

constexpr size_t kChunkCache = 128 << 10;  // bytes per dataset, for one chunk; Corpus caches pages of pairs

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  fail(ErrorKind::data, fmt::format("{}: {} (docs/formats/shard-format.md)", name, why));
}

void check_type(const Hdf5Handle& dataset, Hdf5File::Numbers numbers, const std::string& name) {
  const Hdf5Handle type = check_hdf5(H5Dget_type(dataset), H5Tclose, name, "read its type");
  const bool integers = numbers == Hdf5File::Numbers::integers;
  if (H5Tget_class(type) != (integers ? H5T_INTEGER : H5T_FLOAT))
    refuse(name, integers ? "does not contain integers" : "does not contain real numbers");
}

void check_storage(const Hdf5Handle& dataset, const std::string& name) {
  const Hdf5Handle list = check_hdf5(H5Dget_create_plist(dataset), H5Pclose, name, "read its layout");
  const H5D_layout_t layout = H5Pget_layout(list);
  if (layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT)
    refuse(name, "is not stored in the file itself (virtual)");
  if (H5Pget_external_count(list) != 0) refuse(name, "is not stored in the file itself (external)");
  const int num_filters = layout == H5D_CHUNKED ? H5Pget_nfilters(list) : 0;
  for (int i = 0; i < num_filters; ++i) {
    unsigned flags = 0, config = 0;
    size_t num_values = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(list, static_cast<unsigned>(i), &flags, &num_values, nullptr, 0, nullptr, &config);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
      refuse(name, fmt::format("uses filter {}, which is not deflate, shuffle or Fletcher32", filter));
  }
}

Hdf5Handle open_attribute(hid_t file, const char* attribute, const std::string& name, H5T_class_t type_class,
                          const char* wanted) {
  Hdf5Handle id = check_hdf5(H5Aopen(file, attribute, H5P_DEFAULT), H5Aclose, name, "open");
  const Hdf5Handle type = check_hdf5(H5Aget_type(id), H5Tclose, name, "read its type");
  const Hdf5Handle space = check_hdf5(H5Aget_space(id), H5Sclose, name, "read its shape");
  if (H5Tget_class(type) != type_class || H5Tis_variable_str(type) > 0 || H5Sget_simple_extent_npoints(space) != 1)
    refuse(name, fmt::format("is not {}", wanted));
  return id;
}

}  // namespace

Hdf5File::Hdf5File(int descriptor, std::string name) : impl_(std::make_unique<Impl>()) {
  const Hdf5Lock lock;
  impl_->name = std::move(name);
  const Hdf5Handle access = check_hdf5(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, impl_->name, "prepare opening it");
  // Files are not locked, because shards never change and locks fail on some network file systems.
  H5Pset_file_locking(access, false, true);
  check_hdf5(H5Pset_cache(access, 0, /*slots=*/31, kChunkCache, 0.75), impl_->name, "prepare opening it");
  const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
  impl_->id = check_hdf5(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose, impl_->name, "open it as HDF5");
}
Hdf5File::~Hdf5File() = default;
Hdf5File::Hdf5File(Hdf5File&&) noexcept = default;

std::vector<std::string> Hdf5File::datasets() const {
  const Hdf5Lock lock;
  H5G_info_t info;
  check_hdf5(H5Gget_info(impl_->id, &info), impl_->name, "list its root group");
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    char text[256] = {};
    check_hdf5(H5Lget_name_by_idx(impl_->id, ".", H5_INDEX_NAME, H5_ITER_INC, i, text, sizeof text, H5P_DEFAULT),
               impl_->name, "list its root group");
    H5L_info_t link;
    check_hdf5(H5Lget_info(impl_->id, text, &link, H5P_DEFAULT), impl_->name, "list its root group");
    if (link.type != H5L_TYPE_HARD) refuse(impl_->name, fmt::format("'{}' is a soft or external link", text));
    const Hdf5Handle object =
        check_hdf5(H5Oopen(impl_->id, text, H5P_DEFAULT), H5Oclose, impl_->name, "open a member of its root group");
    if (H5Iget_type(object) != H5I_DATASET) refuse(impl_->name, fmt::format("'{}' is not a dataset", text));
    names.emplace_back(text);
  }
  return names;
}

uint64_t Hdf5File::number_attribute(const char* attribute) const {
  const Hdf5Lock lock;
  const std::string name = fmt::format("{}, attribute {}", impl_->name, attribute);
  const Hdf5Handle id = open_attribute(impl_->id, attribute, name, H5T_INTEGER, "one whole number");
  uint64_t value = 0;
  check_hdf5(H5Aread(id, H5T_NATIVE_UINT64, &value), name, "read");
  return value;
}

std::string Hdf5File::text_attribute(const char* attribute) const {
  const Hdf5Lock lock;
  const std::string name = fmt::format("{}, attribute {}", impl_->name, attribute);
  const Hdf5Handle id = open_attribute(impl_->id, attribute, name, H5T_STRING, "one string of fixed size");
  const Hdf5Handle type = check_hdf5(H5Aget_type(id), H5Tclose, name, "read its type");
  std::string value(H5Tget_size(type), '\0');
  check_hdf5(H5Aread(id, type, value.data()), name, "read");
  return value.substr(0, value.find('\0'));
}

Hdf5Dataset Hdf5File::dataset(const char* dataset, Numbers numbers) const {
  const Hdf5Lock lock;
  auto impl = std::make_unique<Hdf5Dataset::Impl>();
  impl->name = fmt::format("{}, dataset {}", impl_->name, dataset);
  impl->id = check_hdf5(H5Dopen2(impl_->id, dataset, H5P_DEFAULT), H5Dclose, impl->name, "open it");
  check_type(impl->id, numbers, impl->name);
  check_storage(impl->id, impl->name);
  impl->space = check_hdf5(H5Dget_space(impl->id), H5Sclose, impl->name, "read its shape");
  if (H5Sget_simple_extent_ndims(impl->space) != 1) refuse(impl->name, "is not one-dimensional");
  impl->size =
      static_cast<uint64_t>(check_hdf5(H5Sget_simple_extent_npoints(impl->space), impl->name, "read its shape"));
  return Hdf5Dataset(std::move(impl));
}

Hdf5Dataset::Hdf5Dataset(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Hdf5Dataset::~Hdf5Dataset() = default;
Hdf5Dataset::Hdf5Dataset(Hdf5Dataset&&) noexcept = default;

const std::string& Hdf5Dataset::name() const { return impl_->name; }
uint64_t Hdf5Dataset::size() const { return impl_->size; }

void Hdf5Dataset::read(uint64_t first, uint64_t count, int32_t* out) const {
  read(first, count, H5T_NATIVE_INT32, out);
}
void Hdf5Dataset::read(uint64_t first, uint64_t count, uint64_t* out) const {
  read(first, count, H5T_NATIVE_UINT64, out);
}
void Hdf5Dataset::read(uint64_t first, uint64_t count, float* out) const { read(first, count, H5T_NATIVE_FLOAT, out); }

void Hdf5Dataset::read(uint64_t first, uint64_t count, int64_t memory_type, void* out) const {
  if (count == 0) return;
  if (first > impl_->size || count > impl_->size - first)
    fail(ErrorKind::data, fmt::format("{}: elements {} to {} were requested, but there are only {}", impl_->name, first,
                                      first + count, impl_->size));
  const Hdf5Lock lock;
  const hsize_t start = first, length = count;
  check_hdf5(H5Sselect_hyperslab(impl_->space, H5S_SELECT_SET, &start, nullptr, &length, nullptr), impl_->name,
             "select elements");
  const Hdf5Handle memory = check_hdf5(H5Screate_simple(1, &length, nullptr), H5Sclose, impl_->name, "select elements");
  check_hdf5(H5Dread(impl_->id, memory_type, memory, impl_->space, H5P_DEFAULT, out), impl_->name, "read elements");
}

}  // namespace weft
