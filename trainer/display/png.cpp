// trainer/display/png.cpp: writes the chunks of a PNG: size, pixels and end.
#include "trainer/display/png.h"

#include <zlib.h>

#include <string_view>

#include "tensor/error.h"

namespace weft {
namespace {

std::string big_endian(uint64_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string chunk(std::string_view type, const std::string& data) {
  const std::string body = std::string(type) + data;
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(data.size()) + body + big_endian(crc);
}

std::string compressed(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  require(compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                   bytes.size()) == Z_OK,
          ErrorKind::internal, "zlib cannot compress a picture");
  out.resize(size);
  return out;
}

}  // namespace

std::string to_png(int64_t width, int64_t height, const std::vector<uint8_t>& rgb) {
  const auto row = static_cast<size_t>(3 * width);
  std::string pixels;
  for (int64_t y = 0; y < height; ++y) {
    pixels += '\0';  // no filter
    pixels.append(reinterpret_cast<const char*>(rgb.data()) + static_cast<size_t>(y) * row, row);
  }
  const std::string format("\x08\x02\0\0\0", 5);  // 8 bits, RGB, deflate, filters, not interlaced
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR", big_endian(static_cast<uint64_t>(width)) + big_endian(static_cast<uint64_t>(height)) + format) +
         chunk("IDAT", compressed(pixels)) + chunk("IEND", "");
}

}  // namespace weft
