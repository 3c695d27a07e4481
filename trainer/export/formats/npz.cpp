// trainer/export/formats/npz.cpp: writes the headers of .npy arrays and of their archive.
#include "trainer/export/formats/npz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <iterator>

#include "tensor/error.h"

namespace weft {

static_assert(std::endian::native == std::endian::little, "zip and '<f4' are little-endian");

namespace {

constexpr size_t kAlignment = 64;  // alignment of an array's data in its .npy

template <typename... T>
std::string fields(T... values) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  return bytes;
}

std::string npy_header(const char* type, const std::vector<int64_t>& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", type);
  text += fmt::format("{}{}), }}", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");  // (3, 4), but (3,)
  const size_t before = 10;                                                                // magic, version, length
  const size_t length = (before + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - before;
  text.resize(length - 1, ' ');
  return std::string("\x93NUMPY\x01\x00", 8) + fields(static_cast<uint16_t>(length)) + text + '\n';
}

uint32_t checksum(uint32_t so_far, std::string_view data) {
  return static_cast<uint32_t>(crc32_z(so_far, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

}  // namespace

void NpzWriter::add(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& values) {
  int64_t numel = 1;
  for (const int64_t size : shape) numel *= size;
  if (numel != std::ssize(values))
    fail(ErrorKind::internal, fmt::format("{} has {} values, but its shape needs {}", name, values.size(), numel));
  add_member(name, npy_header("<f4", shape),
             {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

void NpzWriter::add_bytes(const std::string& name, std::string_view bytes) {
  add_member(name, npy_header("|i1", {std::ssize(bytes)}), bytes);
}

void NpzWriter::add_member(const std::string& name, const std::string& header, std::string_view data) {
  constexpr uint16_t kVersion = 20, kStored = 0, kFlags = 0, kTime = 0, kDate = 0x21;  // 1980-01-01
  const std::string file = name + ".npy";
  const uint64_t size = header.size() + data.size();
  if (offset_ + size + directory_.size() + 1024 > UINT32_MAX)
    fail(ErrorKind::usage, "Marian does not support models of 4 GiB or more: train with a smaller vocabulary or width");
  const uint32_t crc = checksum(checksum(0, header), data);
  const auto bytes = static_cast<uint32_t>(size);
  const std::string common = fields(kFlags, kStored, kTime, kDate, crc, bytes, bytes,
                                    static_cast<uint16_t>(file.size()), static_cast<uint16_t>(0));
  const std::string local = fields(uint32_t{0x04034b50}, kVersion) + common + file;
  directory_ += fields(uint32_t{0x02014b50}, kVersion, kVersion) + common +
                fields(uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0}, static_cast<uint32_t>(offset_)) + file;
  file_.write(local.data(), local.size());
  file_.write(header.data(), header.size());
  file_.write(data.data(), data.size());
  offset_ += local.size() + size;
  ++members_;
}

void NpzWriter::finish() {
  directory_ += fields(uint32_t{0x06054b50}, uint16_t{0}, uint16_t{0}, members_, members_,
                       static_cast<uint32_t>(directory_.size()), static_cast<uint32_t>(offset_), uint16_t{0});
  file_.write(directory_.data(), directory_.size());
  file_.finish();
}

}  // namespace weft
