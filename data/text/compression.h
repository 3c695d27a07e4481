// data/text/compression.h: unpacks text that was packed with gzip (RFC 1952), zstd (RFC 8878) or xz.
//
// Packed data may consist of several consecutive parts: members of gzip, frames of zstd, or streams of xz.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

enum class Compression : uint8_t { none, gzip, zstd, xz };

Compression compression_of(std::string_view bytes);  // looks at the first six bytes; no text starts like packed data
// Recognizes other kinds of files by their first 16 bytes: archives, tables, UTF-16. Returns what to tell the user
// after the file's name ("is a ZIP archive, not text: ..."), or null.
const char* advice_on_other_format(std::string_view bytes);
const char* name_of(Compression compression);

struct UnpackError {  // what Decompressor throws
  const char* what;   // "is damaged", "needs too much memory"
  std::string why;    // the library's reason
};

class Decompressor {
 public:
  virtual ~Decompressor() = default;

  // Takes bytes from the front of `packed` and returns how many bytes of text it wrote to out[0 .. size). An empty
  // `packed` means that the data ends; a result of 0 then means that all text was written.
  virtual size_t next(std::string_view& packed, char* out, size_t size) = 0;
  virtual bool between_parts() const = 0;  // true if the data may end here
};

std::unique_ptr<Decompressor> make_decompressor(Compression compression);  // REQUIRES: not `none`

// Unpacks `bytes`, the content of the file `name`. Returns `bytes` unchanged if they are not packed. Throws a data
// Error if the packed data is damaged or cut off. (data/text/text_reader.h reads files of any size line by line.)
std::string unpacked(std::string bytes, const std::string& name);

}  // namespace weft
