// data/text/compression.h: text packed with gzip (RFC 1952), zstd (RFC 8878) or xz, recognised by its first bytes.
//
// Each kind may have several parts, one after the other: members, frames or streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

enum class Compression : uint8_t { none, gzip, zstd, xz };

Compression compression_of(std::string_view bytes);  // by at least the first six bytes, which begin no text
const char* name_of(Compression compression);

struct UnpackError {  // what Decompressor throws
  const char* what;   // "is damaged", "needs too much memory"
  std::string why;    // the library's reason
};

class Decompressor {
 public:
  virtual ~Decompressor() = default;

  // Takes bytes from the front of `packed` and returns how many bytes of text it wrote to out[0 .. size). An empty
  // `packed` says that no more follow: with a result of 0, all text was written.
  virtual size_t next(std::string_view& packed, char* out, size_t size) = 0;
  virtual bool between_parts() const = 0;  // whether the data may end here
};

std::unique_ptr<Decompressor> make_decompressor(Compression compression);  // not for `none`

// Unpacks data in memory; text that is not packed is returned as it is. A data Error says that `name` is damaged or
// cut off. (data/text/text_reader.h reads files of any size line by line.)
std::string unpacked(std::string bytes, const std::string& name);

}  // namespace weft
