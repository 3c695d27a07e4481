// trainer/checkpoint/safetensors.cpp: implements a streaming writer and a reader that checks every count and offset.
#include "trainer/checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "data/strict_json.h"
#include "tensor/error.h"

namespace weft {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian and are not converted");

using nlohmann::json;

namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // as in the public safetensors library
constexpr uint64_t kLengthBytes = 8;

// Reads a tensor's entry in the header and checks each field.
class EntryReader {
 public:
  EntryReader(const std::string& path, const std::string& name) : path_(path), name_(name) {}

  SafetensorsEntry read(const json& line, uint64_t data_bytes) const {
    if (!line.is_object() || line.size() != 3 || !line.contains("dtype") || !line.contains("shape") ||
        !line.contains("data_offsets"))
      refuse("the header must contain its dtype, shape and data_offsets, and nothing else");
    SafetensorsEntry entry;
    if (!line["dtype"].is_string()) refuse("dtype is not a string");
    entry.dtype = line["dtype"].get<std::string>();
    const uint64_t bytes = shape_bytes(line["shape"], bytes_of_dtype(entry.dtype), entry);
    const json& offsets = line["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2) refuse("data_offsets is not a pair of numbers");
    entry.begin = count(offsets[0], "data_offsets");
    entry.end = count(offsets[1], "data_offsets");
    if (entry.begin > entry.end || entry.end > data_bytes)
      refuse(fmt::format("data_offsets [{}, {}] are outside the {} bytes of data", entry.begin, entry.end, data_bytes));
    if (entry.end - entry.begin != bytes)
      refuse(fmt::format("data_offsets span {} bytes, but dtype {} and shape {} need {}", entry.end - entry.begin,
                         entry.dtype, str(entry.shape), bytes));
    return entry;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorKind::checkpoint, fmt::format("{}: tensor '{}': {}", path_, printable(name_), why));
  }

  uint64_t count(const json& value, const char* field) const {
    if (!value.is_number_unsigned()) refuse(fmt::format("{} contains a value that is not a whole number", field));
    return value.get<uint64_t>();
  }

  uint64_t shape_bytes(const json& shape, uint64_t element_bytes, SafetensorsEntry& entry) const {
    if (element_bytes == 0) refuse(fmt::format("unknown dtype '{}'", printable(entry.dtype)));
    if (!shape.is_array()) refuse("shape is not a list");
    uint64_t bytes = element_bytes;
    for (const json& dim : shape) {
      const uint64_t size = count(dim, "shape");
      if (__builtin_mul_overflow(bytes, size, &bytes) || size > INT64_MAX) refuse("shape is too large");
      entry.shape.push_back(static_cast<int64_t>(size));
    }
    return bytes;
  }

  const std::string& path_;
  const std::string& name_;
};

// Throws an Error unless the data_offsets of all tensors cover each byte of the data exactly once.
void check_ranges(const std::string& path, const SafetensorsEntries& entries, uint64_t bytes) {
  std::vector<const std::pair<const std::string, SafetensorsEntry>*> order;
  for (const auto& item : entries) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  uint64_t position = 0;
  for (const auto* item : order) {
    if (item->second.begin != position)
      fail(ErrorKind::checkpoint,
           fmt::format("{}: tensor '{}': data_offsets start at {}, which leaves a gap or an overlap at {}", path,
                       printable(item->first), item->second.begin, position));
    position = item->second.end;
  }
  if (position != bytes)
    fail(ErrorKind::checkpoint, fmt::format("{}: the file contains {} bytes of data, but its header describes {} bytes",
                                            path, bytes, position));
}

void check_metadata(const std::string& path, const json& metadata) {
  bool good = metadata.is_object();
  for (const json& value : metadata) good = good && value.is_string();
  if (!good) fail(ErrorKind::checkpoint, fmt::format("{}: __metadata__ does not map strings to strings", path));
}

float widened_bf16(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

float widened_f16(uint16_t x) {  // 1 sign bit, 5 exponent bits, 10 fraction bits
  const uint32_t exponent = (x >> 10) & 31, fraction = x & 1023, sign = static_cast<uint32_t>(x & 0x8000) << 16;
  if (exponent == 0) return std::copysign(std::ldexp(static_cast<float>(fraction), -24), sign ? -1.0f : 1.0f);
  const uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace

uint64_t bytes_of_dtype(const std::string& dtype) {
  static const std::map<std::string, uint64_t> kSizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
      {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};
  const auto it = kSizes.find(dtype);
  return it == kSizes.end() ? 0 : it->second;
}

std::string str(const std::vector<int64_t>& shape) { return printable(fmt::format("[{}]", fmt::join(shape, ", "))); }

SafetensorsWriter::SafetensorsWriter(const std::string& path,
                                     const std::map<std::string, std::vector<int64_t>>& tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(path) {
  json header = json::object();  // keys are in byte order, as in the map
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (const auto& [name, shape] : tensors) {
    uint64_t bytes = sizeof(float);
    for (const int64_t dim : shape) bytes *= static_cast<uint64_t>(dim);
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {bytes_left_, bytes_left_ + bytes}}};
    bytes_left_ += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  file_.write(&length, kLengthBytes);
  file_.write(text.data(), text.size());
}

void SafetensorsWriter::write(const float* data, int64_t count) {
  const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(float);
  require(bytes <= bytes_left_, ErrorKind::internal, "more data than the safetensors header announced");
  bytes_left_ -= bytes;
  file_.write(data, bytes);
}

FileDigest SafetensorsWriter::finish() {
  require(bytes_left_ == 0, ErrorKind::internal, "less data than the safetensors header announced");
  return file_.finish();
}

SafetensorsEntries parse_safetensors_header(const std::string& header, uint64_t data_bytes, const std::string& path) {
  const json lines = parse_strict_json(header, path, ErrorKind::checkpoint);
  if (!lines.is_object()) fail(ErrorKind::checkpoint, fmt::format("{}: the header is not a JSON object", path));
  SafetensorsEntries entries;
  for (const auto& [name, line] : lines.items()) {
    if (name == "__metadata__") {
      check_metadata(path, line);
    } else {
      entries[name] = EntryReader(path, name).read(line, data_bytes);
    }
  }
  check_ranges(path, entries, data_bytes);
  return entries;
}

SafetensorsFile::SafetensorsFile(const std::string& path, const FileDigest* expected)
    : file_(std::make_shared<const CheckedReader>(path)) {
  if (expected) file_->verify(*expected);
  if (file_->size() < kLengthBytes)
    fail(ErrorKind::checkpoint, fmt::format("{} is too short for a safetensors file: {} bytes", path, file_->size()));
  uint64_t length = 0;
  file_->read(0, &length, kLengthBytes);
  if (length > kMaxHeaderBytes || length > file_->size() - kLengthBytes)
    fail(ErrorKind::checkpoint, fmt::format("{}: header length {} exceeds the file's {} bytes or the limit of {} bytes",
                                            path, length, file_->size(), kMaxHeaderBytes));
  std::string header(length, '\0');
  file_->read(kLengthBytes, header.data(), length);
  data_begin_ = kLengthBytes + length;
  entries_ = parse_safetensors_header(header, file_->size() - data_begin_, path);
}

const SafetensorsEntry& SafetensorsFile::entry(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) fail(ErrorKind::checkpoint, fmt::format("{} lacks tensor '{}'", path(), printable(name)));
  return it->second;
}

void SafetensorsFile::read(const std::string& name, float* out) const {
  const std::vector<int64_t>& shape = entry(name).shape;
  read(name, 0, std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()), out);
}

void SafetensorsFile::read(const std::string& name, int64_t first, int64_t count, float* out) const {
  const SafetensorsEntry& e = entry(name);
  const uint64_t size = bytes_of_dtype(e.dtype), begin = e.begin + static_cast<uint64_t>(first) * size;
  require(first >= 0 && count >= 0 && begin + static_cast<uint64_t>(count) * size <= e.end, ErrorKind::internal,
          "a read past the end of a tensor");
  read_floats(*file_, {.tensor = name, .dtype = e.dtype}, data_begin_ + begin, count, out);
}

void read_floats(const CheckedReader& file, const FloatTensor& which, uint64_t offset, int64_t count, float* out) {
  if (which.dtype == "F32") return file.read(offset, out, static_cast<uint64_t>(count) * sizeof(float));
  if (which.dtype != "F16" && which.dtype != "BF16")
    fail(ErrorKind::checkpoint,
         fmt::format("{}: tensor '{}' has dtype {}, but only F32, F16 and BF16 can be loaded: save it as F32",
                     file.path(), printable(which.tensor), printable(which.dtype)));
  std::vector<uint16_t> narrow(static_cast<size_t>(count));
  file.read(offset, narrow.data(), narrow.size() * sizeof(uint16_t));
  std::transform(narrow.begin(), narrow.end(), out, which.dtype == "F16" ? widened_f16 : widened_bf16);
}

}  // namespace weft
