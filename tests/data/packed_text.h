// tests/data/packed_text.h: text packed with each library that data/text/ unpacks with.
#pragma once

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <string>

#include "data/text/compression.h"

namespace weft::testing {

inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string zstd_packed(const std::string& text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the program zstd does
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

inline std::string xz_packed(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  size_t size = 0;
  lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                          reinterpret_cast<uint8_t*>(out.data()), &size, out.size());
  out.resize(size);
  return out;
}

inline std::string packed_with(Compression compression, const std::string& text) {
  if (compression == Compression::gzip) return gzipped(text);
  if (compression == Compression::zstd) return zstd_packed(text);
  return compression == Compression::xz ? xz_packed(text) : text;
}

inline constexpr Compression kPackings[] = {Compression::gzip, Compression::zstd, Compression::xz};

}  // namespace weft::testing
