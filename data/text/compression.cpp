// data/text/compression.cpp: recognizes the kind of compression, and unpacks complete texts.
#include "data/text/compression.h"

#include <algorithm>
#include <utility>

#include "data/text/decompressors/decompressors.h"
#include "tensor/error.h"

namespace weft {

Compression compression_of(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x1f\x8b")) return Compression::gzip;
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return Compression::zstd;
  // pzstd starts with a skippable frame, whose magic number is 0x184D2A50 to 0x184D2A5F.
  if (bytes.size() >= 4 && (bytes[0] & 0xF0) == 0x50 && bytes.substr(1, 3) == "\x2a\x4d\x18") return Compression::zstd;
  if (bytes.starts_with("\xfd\x37\x7a\x58\x5a\0"sv)) return Compression::xz;
  return Compression::none;
}

const char* advice_on_other_format(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, const char*> kFormats[] = {
      {"PK\x03\x04"sv, "is a ZIP archive, not text: unpack it with unzip"},
      {"\x31\x41\x59\x26\x53\x59"sv, "is packed with bzip2: unpack it with bunzip2, or pack it with gzip, zstd or xz"},
      {"7z\xbc\xaf\x27\x1c"sv, "is a 7z archive, not text: unpack it with 7z x"},
      {"\x04\x22\x4d\x18"sv, "is packed with LZ4: unpack it with lz4 -d, or pack it with gzip, zstd or xz"},
      {"PAR1\x15"sv, "is a Parquet file, not text: convert it to TSV, for example with DuckDB"},
      {"\x89HDF\r\n\x1a\n"sv,
       "is an HDF5 file, not text: if it is a shard of a packed corpus, give the corpus's folder"},
      {"\xff\xfe"sv, "is UTF-16: convert it with iconv -f UTF-16 -t UTF-8"},
      {"\xfe\xff"sv, "is UTF-16: convert it with iconv -f UTF-16 -t UTF-8"}};
  if (bytes.starts_with("BZh"))
    bytes.remove_prefix(std::min<size_t>(bytes.size(), 4));  // before the block's magic number
  for (const auto& [magic, advice] : kFormats)
    if (bytes.starts_with(magic)) return advice;
  return nullptr;
}

const char* name_of(Compression compression) {
  constexpr const char* kNames[] = {"plain", "gzip", "zstd", "xz"};
  return kNames[static_cast<size_t>(compression)];
}

std::unique_ptr<Decompressor> make_decompressor(Compression compression) {
  if (compression == Compression::gzip) return make_gzip_decompressor();
  if (compression == Compression::zstd) return make_zstd_decompressor();
  if (compression == Compression::xz) return make_xz_decompressor();
  fail(ErrorKind::internal, "plain text needs no decompressor");
}

std::string unpacked(std::string bytes, const std::string& name) {
  constexpr size_t kPart = 256 << 10;
  const Compression compression = compression_of(bytes);
  if (const char* advice = advice_on_other_format(bytes)) fail(ErrorKind::data, fmt::format("{} {}", name, advice));
  if (compression == Compression::none) return bytes;
  const std::unique_ptr<Decompressor> decompressor = make_decompressor(compression);
  std::string text;
  std::string_view packed = bytes;
  try {
    for (bool more = true; more;) {
      const bool all_taken = packed.empty();
      const size_t before = text.size();
      text.resize(before + kPart);
      text.resize(before + decompressor->next(packed, text.data() + before, kPart));
      more = !all_taken || text.size() > before;
    }
  } catch (const UnpackError& error) {
    fail(ErrorKind::data, fmt::format("{}: its {} data {} ({})", name, name_of(compression), error.what, error.why));
  }
  if (!decompressor->between_parts())
    fail(ErrorKind::data, fmt::format("{}: its {} data is cut off", name, name_of(compression)));
  return text;
}

}  // namespace weft
