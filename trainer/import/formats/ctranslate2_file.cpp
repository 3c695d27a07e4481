// trainer/import/formats/ctranslate2_file.cpp: reads the headers of model.bin.
#include "trainer/import/formats/ctranslate2_file.h"

#include <fmt/format.h>

#include <array>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr uint32_t kBinaryVersion = 6;
constexpr const char* kSpecification = "TransformerSpec";
constexpr std::array<const char*, 6> kTypes = {"F32", "I8", "I16", "I32", "F16", "BF16"};  // by their numbers

class VariablesReader {
 public:
  explicit VariablesReader(const std::string& path) : file_(std::make_shared<const CheckedReader>(path)) {}

  Ctranslate2Variables read() {
    if (const auto version = next<uint32_t>(); version != kBinaryVersion)
      refuse(fmt::format("version {} of model.bin is not supported, only {}", version, kBinaryVersion));
    if (const std::string specification = name(); specification != kSpecification)
      refuse(fmt::format("the model is a {}, not a {}", printable(specification), kSpecification));
    next<uint32_t>();  // the revision of the specification
    for (auto count = next<uint32_t>(); count > 0; --count) read_variable();
    for (auto count = next<uint32_t>(); count > 0; --count) {
      const std::string alias = name();
      found_.aliases[alias] = name();
    }
    found_.files.add(file_, arrays_);
    return std::move(found_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorKind::checkpoint, fmt::format("{}: {}", file_->path(), why));
  }

  void read_variable() {
    const std::string variable = name();
    TensorInFile tensor;
    for (auto rank = next<uint8_t>(); rank > 0; --rank) tensor.shape.push_back(next<uint32_t>());
    const auto type = next<uint8_t>();
    if (type >= kTypes.size()) refuse(fmt::format("variable '{}' has an unknown type", printable(variable)));
    tensor.dtype = kTypes[type];
    const auto bytes = next<uint32_t>();
    if (tensor.shape.empty()) {
      found_.numbers[variable] = number(tensor.dtype, bytes);
      return;
    }
    tensor.offset = at_, tensor.bytes = bytes;
    skip(bytes);
    if (!arrays_.emplace(variable, tensor).second)
      refuse(fmt::format("variable '{}' occurs twice", printable(variable)));
  }

  double number(const std::string& dtype, uint32_t bytes) {
    if (dtype == "I8" && bytes == 1) return next<int8_t>();
    if (dtype == "I16" && bytes == 2) return next<int16_t>();
    if (dtype == "I32" && bytes == 4) return next<int32_t>();
    if (dtype == "F32" && bytes == 4) return next<float>();
    skip(bytes);  // no number of this type is an option
    return 0;
  }

  std::string name() {
    const auto size = next<uint16_t>();
    if (size == 0) refuse("a name is empty");
    std::string text(size, '\0');
    const uint64_t begin = at_;
    skip(size);
    file_->read(begin, text.data(), text.size());
    text.pop_back();
    return text;
  }
  void skip(uint64_t bytes) {
    if (bytes > file_->size() - at_) refuse("the file is truncated");
    at_ += bytes;
  }
  template <typename T>
  T next() {
    T value;
    const uint64_t begin = at_;
    skip(sizeof value);
    file_->read(begin, &value, sizeof value);
    return value;
  }

  std::shared_ptr<const CheckedReader> file_;
  uint64_t at_ = 0;
  std::map<std::string, TensorInFile> arrays_;
  Ctranslate2Variables found_;
};

}  // namespace

Ctranslate2Variables open_ctranslate2(const std::string& path) { return VariablesReader(path).read(); }

}  // namespace weft
