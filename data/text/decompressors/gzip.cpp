// data/text/decompressors/gzip.cpp: unpacks consecutive gzip members with zlib's inflate.
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "data/text/decompressors/decompressors.h"
#include "tensor/error.h"

namespace weft {
namespace {

class GzipDecompressor : public Decompressor {
 public:
  GzipDecompressor() {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) fail(ErrorKind::internal, "zlib cannot be started");
  }
  ~GzipDecompressor() override { inflateEnd(&stream_); }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;

  // gzread is not used, because it takes other data after a member for the end of the file, and loses the rest.
  size_t next(std::string_view& packed, char* out, size_t size) override {
    constexpr size_t kMax = std::numeric_limits<uInt>::max();
    if (packed.empty() && between_parts_) return 0;
    if (std::exchange(between_parts_, false)) inflateReset(&stream_);
    const auto given = static_cast<uInt>(std::min(packed.size(), kMax));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(std::min(size, kMax));
    const uInt room = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      throw UnpackError{"is damaged", stream_.msg ? stream_.msg : "no gzip data"};
    between_parts_ = status == Z_STREAM_END;
    packed.remove_prefix(given - stream_.avail_in);
    return room - stream_.avail_out;
  }
  bool between_parts() const override { return between_parts_; }

 private:
  z_stream stream_{};
  bool between_parts_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> make_gzip_decompressor() { return std::make_unique<GzipDecompressor>(); }

}  // namespace weft
