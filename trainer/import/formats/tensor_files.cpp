// trainer/import/formats/tensor_files.cpp: checks the places of tensors and reads their values.
#include "trainer/import/formats/tensor_files.h"

#include <fmt/format.h>

#include "tensor/error.h"
#include "trainer/checkpoint/safetensors.h"

namespace weft {
namespace {

constexpr uint64_t kMostText = 1 << 20;

}  // namespace

int64_t numel_of(const std::vector<int64_t>& shape) {
  int64_t numel = 1;
  for (const int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(numel, size, &numel)) return -1;
  return numel;
}

void TensorFiles::add(std::shared_ptr<const CheckedReader> file, const std::map<std::string, TensorInFile>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    const int64_t numel = numel_of(tensor.shape);
    const uint64_t size = std::max<uint64_t>(bytes_of_dtype(tensor.dtype), 1);
    if (tensor.offset > file->size() || tensor.bytes > file->size() - tensor.offset || numel < 0 ||
        static_cast<uint64_t>(numel) > tensor.bytes / size)
      fail(ErrorKind::checkpoint, fmt::format("{}: tensor '{}' of shape {} is truncated: it has {} bytes", file->path(),
                                              printable(name), str(tensor.shape), tensor.bytes));
    const auto [other, is_new] = places_.emplace(name, Place{file, tensor});
    if (!is_new)
      fail(ErrorKind::checkpoint,
           fmt::format("tensor '{}' is in {} and in {}", printable(name), other->second.file->path(), file->path()));
  }
}

std::vector<std::string> TensorFiles::names() const {
  std::vector<std::string> all;
  for (const auto& [name, place] : places_) all.push_back(name);
  return all;
}

void TensorFiles::read(const std::string& name, int64_t first, int64_t count, float* out) const {
  const auto& [file, tensor] = places_.at(name);
  require(first >= 0 && count >= 0 && first + count <= numel_of(tensor.shape), ErrorKind::internal,
          "a read past the end of a tensor");
  const uint64_t begin = tensor.offset + static_cast<uint64_t>(first) * bytes_of_dtype(tensor.dtype);
  read_floats(*file, {.tensor = name, .dtype = tensor.dtype}, begin, count, out);
}

bool TensorFiles::are_equal(const std::string& name, const std::string& other) const {
  if (shape(name) != shape(other)) return false;
  constexpr int64_t kValues = 1 << 18;
  std::vector<float> one(kValues), two(kValues);
  const int64_t numel = numel_of(shape(name));
  for (int64_t first = 0; first < numel; first += kValues) {
    const int64_t count = std::min(kValues, numel - first);
    read(name, first, count, one.data());
    read(other, first, count, two.data());
    if (!std::equal(one.begin(), one.begin() + count, two.begin())) return false;
  }
  return true;
}

std::string TensorFiles::bytes(const std::string& name) const {
  const auto& [file, tensor] = places_.at(name);
  const auto size = static_cast<uint64_t>(numel_of(tensor.shape));
  if (tensor.dtype != "I8" || size > kMostText)
    fail(ErrorKind::checkpoint, fmt::format("{}: tensor '{}' does not contain a text", file->path(), printable(name)));
  std::string text(size, '\0');
  file->read(tensor.offset, text.data(), text.size());
  return text;
}

}  // namespace weft
