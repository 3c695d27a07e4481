// trainer/export/formats/ctranslate2_file.cpp: writes the bytes of model.bin.
#include "trainer/export/formats/ctranslate2_file.h"

#include <fmt/format.h>

#include <bit>

#include "tensor/error.h"
#include "trainer/checkpoint/checked_file.h"

namespace weft {

static_assert(std::endian::native == std::endian::little, "model.bin is little-endian");

namespace {

constexpr uint32_t kBinaryVersion = 6, kSpecRevision = 7;
constexpr char kSpecification[] = "TransformerSpec";
enum Type : uint8_t { kF32 = 0, kI8 = 1, kI16 = 2, kI32 = 3 };

template <typename T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string name_bytes(const std::string& name) {
  return bytes_of(static_cast<uint16_t>(name.size() + 1)) + name + '\0';
}

uint64_t array_bytes(const std::vector<int64_t>& shape) {
  uint64_t bytes = sizeof(float);
  for (const int64_t size : shape) bytes *= static_cast<uint64_t>(size);
  return bytes;
}

}  // namespace

template <typename T>
void Ctranslate2File::scalar(const std::string& name, uint8_t type, T value) {
  variables_[name] = {{}, type, bytes_of(value), {}};
}
void Ctranslate2File::small_number(const std::string& name, int8_t value) { scalar(name, kI8, value); }
void Ctranslate2File::short_number(const std::string& name, int16_t value) { scalar(name, kI16, value); }
void Ctranslate2File::number(const std::string& name, int32_t value) { scalar(name, kI32, value); }
void Ctranslate2File::real(const std::string& name, float value) { scalar(name, kF32, value); }

void Ctranslate2File::array(const std::string& name, std::vector<int64_t> shape, MakeValues values) {
  if (array_bytes(shape) > UINT32_MAX)
    fail(ErrorKind::usage, fmt::format("CTranslate2 does not support arrays of 4 GiB or more, such as {}: train with "
                                       "a smaller vocabulary or width",
                                       name));
  variables_[name] = {std::move(shape), kF32, {}, std::move(values)};
}

void Ctranslate2File::write(const std::string& path) const {
  DigestWriter file(path);
  const auto put = [&](const std::string& bytes) { file.write(bytes.data(), bytes.size()); };
  put(bytes_of(kBinaryVersion) + name_bytes(kSpecification) + bytes_of(kSpecRevision));
  put(bytes_of(static_cast<uint32_t>(variables_.size())));
  for (const auto& [name, variable] : variables_) {
    put(name_bytes(name) + bytes_of(static_cast<uint8_t>(variable.shape.size())));
    for (const int64_t size : variable.shape) put(bytes_of(static_cast<uint32_t>(size)));
    const uint64_t bytes = variable.values ? array_bytes(variable.shape) : variable.bytes.size();
    put(bytes_of(variable.type) + bytes_of(static_cast<uint32_t>(bytes)) + variable.bytes);
    if (!variable.values) continue;
    const Values values = variable.values();
    if (values.size() * sizeof(float) != bytes)
      fail(ErrorKind::internal,
           fmt::format("{} has {} values, but its shape needs {}", name, values.size(), bytes / 4));
    file.write(values.data(), bytes);
  }
  put(bytes_of(static_cast<uint32_t>(aliases_.size())));
  for (const auto& [name, variable] : aliases_) put(name_bytes(name) + name_bytes(variable));
  file.finish();
}

}  // namespace weft
