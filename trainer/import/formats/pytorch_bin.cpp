// trainer/import/formats/pytorch_bin.cpp: finds the tensors of a state_dict that torch.save has written
// (torch/serialization.py): a zip archive since PyTorch 1.6, before that a sequence of pickles and storages.
#include <fmt/format.h>

#include <cstring>
#include <functional>

#include "tensor/error.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/import/formats/pickle.h"
#include "trainer/import/formats/tensor_files.h"
#include "trainer/import/formats/zip_file.h"

namespace weft {
namespace {

using Kind = PickleValue::Kind;

constexpr uint64_t kMostPickle = 4 << 20;
constexpr size_t kMostDimensions = 8;
// The whole number 0x1950a86a20f9469cfc6c, with which an old file begins.
constexpr std::string_view kOldMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

std::string dtype_of(const std::string& storage) {
  if (storage == "torch.FloatStorage") return "F32";
  if (storage == "torch.HalfStorage") return "F16";
  if (storage == "torch.BFloat16Storage") return "BF16";
  if (storage == "torch.LongStorage") return "I64";
  if (storage == "torch.DoubleStorage") return "F64";
  return storage;
}

// Returns the tensors of the dictionary in a pickle. `place_of` returns the byte at which a storage begins, and fails
// if there is no such storage or it is shorter than `bytes`.
class StateDict {
 public:
  using PlaceOf = std::function<uint64_t(const std::string& key, uint64_t bytes)>;
  StateDict(const Pickle& pickle, std::string path, PlaceOf place_of)
      : pickle_(pickle), path_(std::move(path)), place_of_(std::move(place_of)) {}

  std::map<std::string, TensorInFile> tensors() const {
    const PickleValue& dict = pickle_.result();
    if (dict.kind != Kind::dict) refuse("the file does not contain a state_dict");
    std::map<std::string, TensorInFile> all;
    for (size_t i = 0; i + 1 < dict.of.size(); i += 2) {
      const PickleValue &key = pickle_.at(dict.of[i]), &value = pickle_.at(dict.of[i + 1]);
      if (key.kind != Kind::text || value.kind != Kind::tensor)
        refuse("the file is not a state_dict, which contains only tensors by name");
      if (!all.emplace(key.name, tensor(key.name, value)).second)
        refuse(fmt::format("tensor '{}' occurs twice", printable(key.name)));
    }
    return all;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorKind::checkpoint, fmt::format("{}: {}", path_, why));
  }
  std::vector<int64_t> wholes(const PickleValue& tuple) const {
    if (tuple.of.size() > kMostDimensions) refuse(fmt::format("a tensor has {} dimensions", tuple.of.size()));
    std::vector<int64_t> numbers;
    for (const size_t item : tuple.of) numbers.push_back(pickle_.at(item).number);
    return numbers;
  }

  TensorInFile tensor(const std::string& name, const PickleValue& value) const {
    const PickleValue& storage = pickle_.at(value.of[0]);
    if (storage.kind != Kind::storage) refuse(fmt::format("tensor '{}' has no storage", printable(name)));
    TensorInFile found{.dtype = dtype_of(pickle_.at(storage.of[1]).name), .shape = wholes(pickle_.at(value.of[2]))};
    const int64_t first = pickle_.at(value.of[1]).number, elements = pickle_.at(storage.of[4]).number;
    const int64_t numel = numel_of(found.shape);
    if (numel < 0 || first < 0 || elements < 0 || numel > elements || first > elements - numel)
      refuse(fmt::format("tensor '{}' exceeds its storage", printable(name)));
    require_contiguous(name, found.shape, wholes(pickle_.at(value.of[3])));
    const uint64_t size = bytes_of_dtype(found.dtype), most = UINT64_MAX / 16;
    if (static_cast<uint64_t>(elements) > most) refuse(fmt::format("tensor '{}' exceeds the file", printable(name)));
    found.offset = place_of_(pickle_.at(storage.of[2]).name, static_cast<uint64_t>(elements) * size) +
                   static_cast<uint64_t>(first) * size;
    found.bytes = static_cast<uint64_t>(numel) * size;
    return found;
  }

  void require_contiguous(const std::string& name, const std::vector<int64_t>& shape,
                          const std::vector<int64_t>& strides) const {
    bool is_contiguous = shape.size() == strides.size();
    int64_t stride = 1;
    for (size_t i = shape.size(); is_contiguous && i-- > 0;)
      is_contiguous = (shape[i] == 1 || strides[i] == stride) && !__builtin_mul_overflow(stride, shape[i], &stride);
    if (!is_contiguous)
      refuse(fmt::format("tensor '{}' is not contiguous: save it with .contiguous()", printable(name)));
  }

  const Pickle& pickle_;
  std::string path_;
  PlaceOf place_of_;
};

std::string text_at(const CheckedReader& file, uint64_t offset, uint64_t bytes) {
  if (bytes > kMostPickle)
    fail(ErrorKind::checkpoint, fmt::format("{}: the file's pickle of {} bytes is too large", file.path(), bytes));
  std::string text(bytes, '\0');
  file.read(offset, text.data(), bytes);
  return text;
}

std::map<std::string, TensorInFile> in_archive(const CheckedReader& file) {
  const std::map<std::string, ZipMember> members = zip_members(file.path());
  std::string folder;
  for (const auto& [name, member] : members)
    if (name.ends_with("/data.pkl")) folder = name.substr(0, name.size() - std::strlen("data.pkl"));
  const auto found = members.find(folder + "data.pkl"), order = members.find(folder + "byteorder");
  if (found == members.end()) fail(ErrorKind::checkpoint, fmt::format("{}: the archive has no data.pkl", file.path()));
  if (order != members.end() && text_at(file, order->second.offset, order->second.size) != "little")
    fail(ErrorKind::checkpoint, fmt::format("{}: the numbers are not little-endian", file.path()));
  const std::string bytes = text_at(file, found->second.offset, found->second.size);
  const Pickle pickle(bytes, file.path());
  return StateDict(pickle, file.path(),
                   [&](const std::string& key, uint64_t size) {
                     const auto storage = members.find(folder + "data/" + key);
                     if (storage == members.end() || storage->second.size < size)
                       fail(ErrorKind::checkpoint,
                            fmt::format("{}: storage '{}' is missing or too short", file.path(), printable(key)));
                     return storage->second.offset;
                   })
      .tensors();
}

// The old format: pickles of the magic number, the version, the system, the object and a list of keys. Then, for each
// key, the u64 number of its elements and the elements.
std::map<std::string, TensorInFile> in_old_file(const CheckedReader& file) {
  const std::string head = text_at(file, 0, std::min(file.size(), kMostPickle));
  std::string_view rest = head;
  const auto next = [&] {
    Pickle pickle(rest, file.path());
    rest.remove_prefix(pickle.size());
    return pickle;
  };
  if (next().result().name != kOldMagic)
    fail(ErrorKind::checkpoint, fmt::format("{} is neither a zip archive nor an old file of PyTorch", file.path()));
  next(), next();
  const Pickle object = next(), keys = next();

  std::map<std::string, uint64_t> sizes, places;  // of storages, in bytes
  StateDict(object, file.path(), [&](const std::string& key, uint64_t size) {
    sizes[key] = size;
    return uint64_t{0};
  }).tensors();
  uint64_t at = head.size() - rest.size();
  for (const size_t item : keys.result().of) {
    const std::string& key = keys.at(item).name;
    const uint64_t size = sizes.contains(key) ? sizes[key] : 0;
    if (file.size() - at < sizeof(uint64_t) || file.size() - at - sizeof(uint64_t) < size)
      fail(ErrorKind::checkpoint, fmt::format("{}: the file is truncated", file.path()));
    places[key] = at + sizeof(uint64_t);
    at = places[key] + size;
  }
  return StateDict(object, file.path(),
                   [&](const std::string& key, uint64_t) {
                     const auto place = places.find(key);
                     if (place == places.end())
                       fail(ErrorKind::checkpoint,
                            fmt::format("{}: storage '{}' is missing", file.path(), printable(key)));
                     return place->second;
                   })
      .tensors();
}

}  // namespace

void add_pytorch_bin(const std::string& path, TensorFiles& all) {
  const auto file = std::make_shared<const CheckedReader>(path);
  const bool is_zip = file->size() >= 4 && text_at(*file, 0, 2) == "PK";
  all.add(file, is_zip ? in_archive(*file) : in_old_file(*file));
}

}  // namespace weft
