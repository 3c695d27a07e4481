// data/text/decompressors/zstd.cpp: unpacks zstd frames with libzstd, and refuses windows above 128 MiB, as zstd does
// by default.
#include <zstd.h>
#include <zstd_errors.h>

#include "data/text/decompressors/decompressors.h"
#include "tensor/error.h"

namespace weft {
namespace {

[[noreturn]] void fail_zstd(size_t result) {
  const bool too_large = ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge;
  throw UnpackError{too_large ? "needs too much memory" : "is damaged", ZSTD_getErrorName(result)};
}

class ZstdDecompressor : public Decompressor {
 public:
  ZstdDecompressor() : stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (!stream_) fail(ErrorKind::internal, "libzstd cannot be started");
  }

  size_t next(std::string_view& packed, char* out, size_t size) override {
    if (packed.empty() && between_parts_) return 0;
    ZSTD_inBuffer in{.src = packed.data(), .size = packed.size(), .pos = 0};
    ZSTD_outBuffer text{.dst = out, .size = size, .pos = 0};
    const size_t wanted = ZSTD_decompressStream(stream_.get(), &text, &in);
    if (ZSTD_isError(wanted)) fail_zstd(wanted);
    packed.remove_prefix(in.pos);
    between_parts_ = wanted == 0;
    return text.pos;
  }
  bool between_parts() const override { return between_parts_; }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  bool between_parts_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> make_zstd_decompressor() { return std::make_unique<ZstdDecompressor>(); }

}  // namespace weft
