// trainer/import/formats/marian_bin.cpp: finds the arrays of Marian's .bin, version 1 (src/common/binary.cpp of
// marian-dev).
//
// Little-endian: u64 version; u64 number of arrays; for each array four u64: bytes of its name with a NUL, type, rank,
// bytes of its data; all names; all shapes as i32; u64 gap; `gap` bytes; the data of all arrays.
#include <fmt/format.h>

#include "tensor/error.h"
#include "trainer/import/formats/marian_file.h"

namespace weft {
namespace {

constexpr uint64_t kVersion = 1, kEncryptedVersion = 2;

struct ArrayHeader {
  uint64_t name_bytes, type, rank, data_bytes;
};

std::string dtype_of(uint64_t type) {  // types are in src/common/types.h
  switch (type) {
    case 0x404:
      return "F32";
    case 0x402:
      return "F16";
    case 0x101:
      return "I8";
    default:
      return fmt::format("{:#x} of Marian (quantized)", type);
  }
}

class BinReader {
 public:
  explicit BinReader(const std::string& path) : file_(std::make_shared<const CheckedReader>(path)) {}

  TensorFiles read() {
    const auto version = next<uint64_t>();
    if (version == kEncryptedVersion) refuse("the model is encrypted");
    if (version != kVersion) refuse("the file is not a .bin model of Marian");
    const auto headers = many<ArrayHeader>(next<uint64_t>());
    std::vector<std::string> names;
    for (const ArrayHeader& h : headers) {
      const std::vector<char> name = many<char>(h.name_bytes);
      names.emplace_back(name.data(), name.empty() ? 0 : name.size() - 1);
    }
    std::vector<std::vector<int64_t>> shapes;
    for (const ArrayHeader& h : headers) {
      const std::vector<int32_t> shape = many<int32_t>(h.rank);
      shapes.emplace_back(shape.begin(), shape.end());
    }
    skip(next<uint64_t>());
    std::map<std::string, TensorInFile> tensors;
    for (size_t i = 0; i < headers.size(); ++i) {
      const TensorInFile tensor{
          .dtype = dtype_of(headers[i].type), .shape = shapes[i], .offset = at_, .bytes = headers[i].data_bytes};
      if (!tensors.emplace(names[i], tensor).second)
        refuse(fmt::format("array '{}' occurs twice", printable(names[i])));
      skip(headers[i].data_bytes);
    }
    TensorFiles all;
    all.add(file_, tensors);
    return all;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorKind::checkpoint, fmt::format("{}: {}", file_->path(), why));
  }
  void skip(uint64_t bytes) {
    if (bytes > file_->size() - at_) refuse("the file is truncated");
    at_ += bytes;
  }
  template <typename T>
  std::vector<T> many(uint64_t count) {
    const uint64_t begin = at_;
    if (count > file_->size() / sizeof(T)) refuse("the file is truncated");
    skip(count * sizeof(T));
    std::vector<T> values(count);
    file_->read(begin, values.data(), count * sizeof(T));
    return values;
  }
  template <typename T>
  T next() {
    return many<T>(1).front();
  }

  std::shared_ptr<const CheckedReader> file_;
  uint64_t at_ = 0;
};

}  // namespace

TensorFiles open_marian_bin(const std::string& path) { return BinReader(path).read(); }

}  // namespace weft
