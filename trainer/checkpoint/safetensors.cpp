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
#include "tensor/op/quantize.h"

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

int64_t numel(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

int64_t numel(const SafetensorsEntry& entry) {  // of an entry with its place in the file
  return static_cast<int64_t>((entry.end - entry.begin) / bytes_of_dtype(entry.dtype));
}

std::string scale_name(const std::string& matrix) { return matrix + ".scale"; }

// Removes the scales of matrices in int8 from the entries, and notes their place in the entry of the matrix.
void join_scales(SafetensorsEntries& entries, const std::string& path) {
  for (auto& [name, entry] : entries) {
    const auto scales = entries.find(scale_name(name));
    if (entry.dtype != "I8" || scales == entries.end()) continue;
    const int64_t rows = numel(scales->second);
    if (scales->second.dtype != "F32" || rows < 1 || numel(entry) % rows != 0 || numel(entry) == 0)
      fail(ErrorKind::checkpoint,
           fmt::format("{}: tensor '{}' of dtype {} and shape {} contains no scales for {}", path,
                       printable(scales->first), scales->second.dtype, str(scales->second.shape), str(entry.shape)));
    entry.int8_row = numel(entry) / rows, entry.scales_begin = scales->second.begin;
    entries.erase(scales);
  }
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
                                     const std::map<std::string, std::string>& metadata, const Int8Rows& int8_rows)
    : file_(path) {
  for (const auto& [name, shape] : tensors) {
    const int64_t count = numel(shape);
    const auto found = int8_rows.find(name);
    const int64_t row = found == int8_rows.end() ? 0 : found->second;
    if (row > 0 && count % row != 0)
      fail(ErrorKind::checkpoint,
           fmt::format("{}: tensor '{}' of shape {} has no rows of {} elements", path, name, str(shape), row));
    entries_[name] = {.dtype = row > 0 ? "I8" : "F32", .shape = shape, .int8_row = row};
    if (row > 0) entries_[scale_name(name)] = {.dtype = "F32", .shape = {count / row}};
  }
  uint64_t position = 0;
  json header = json::object();  // keys are in byte order, as in the map
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (auto& [name, entry] : entries_) {
    entry.begin = position;
    position = entry.end = entry.begin + static_cast<uint64_t>(numel(entry.shape)) * bytes_of_dtype(entry.dtype);
    header[name] = {{"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  file_.write(&length, kLengthBytes);
  file_.write(text.data(), text.size());
  current_ = entries_.begin();
  begin_tensor();
}

// Sets `left_` of the current tensor. Skips tensors without elements, and writes scales, which follow their matrix.
void SafetensorsWriter::begin_tensor() {
  for (; current_ != entries_.end(); ++current_) {
    const auto& [name, entry] = *current_;
    left_ = numel(entry);
    const auto scales = scales_.find(name);
    if (scales == scales_.end() && left_ > 0) return;
    if (scales != scales_.end()) file_.write(scales->second.data(), scales->second.size() * sizeof(float));
  }
}

void SafetensorsWriter::write(const float* data, int64_t count) {
  while (count > 0) {
    require(current_ != entries_.end(), ErrorKind::internal, "more data than the safetensors header announced");
    const auto& [name, entry] = *current_;
    const int64_t taken = std::min(count, left_);
    if (entry.int8_row > 0)
      write_int8(name, entry.int8_row, {data, static_cast<size_t>(taken)});
    else
      file_.write(data, static_cast<uint64_t>(taken) * sizeof(float));
    data += taken, count -= taken, left_ -= taken;
    if (left_ > 0) continue;
    ++current_;
    begin_tensor();
  }
}

void SafetensorsWriter::write_int8(const std::string& name, int64_t row, std::span<const float> data) {
  std::vector<int8_t> rounded(static_cast<size_t>(row));
  for (const float value : data) {
    row_.push_back(value);
    if (std::ssize(row_) < row) continue;
    scales_[scale_name(name)].push_back(quantize_row(row_.data(), row, rounded.data()));
    file_.write(rounded.data(), rounded.size());
    row_.clear();
  }
}

FileDigest SafetensorsWriter::finish() {
  require(current_ == entries_.end(), ErrorKind::internal, "less data than the safetensors header announced");
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
  join_scales(entries_, path);
}

const SafetensorsEntry& SafetensorsFile::entry(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) fail(ErrorKind::checkpoint, fmt::format("{} lacks tensor '{}'", path(), printable(name)));
  return it->second;
}

void SafetensorsFile::read(const std::string& name, float* out) const { read(name, 0, numel(entry(name)), out); }

void SafetensorsFile::read(const std::string& name, int64_t first, int64_t count, float* out) const {
  const SafetensorsEntry& e = entry(name);
  const uint64_t size = bytes_of_dtype(e.dtype), begin = e.begin + static_cast<uint64_t>(first) * size;
  require(first >= 0 && count >= 0 && begin + static_cast<uint64_t>(count) * size <= e.end, ErrorKind::internal,
          "a read past the end of a tensor");
  if (e.int8_row == 0) return read_floats(*file_, {.tensor = name, .dtype = e.dtype}, data_begin_ + begin, count, out);
  if (count == 0) return;
  const int64_t first_row = first / e.int8_row, last_row = (first + count - 1) / e.int8_row;
  std::vector<float> scales(static_cast<size_t>(last_row - first_row + 1));
  file_->read(data_begin_ + e.scales_begin + static_cast<uint64_t>(first_row) * sizeof(float), scales.data(),
              scales.size() * sizeof(float));
  std::vector<int8_t> rounded(static_cast<size_t>(count));
  file_->read(data_begin_ + begin, rounded.data(), rounded.size());
  for (int64_t i = 0; i < count; ++i)
    out[i] = scales[static_cast<size_t>((first + i) / e.int8_row - first_row)] *
             static_cast<float>(rounded[static_cast<size_t>(i)]);
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
