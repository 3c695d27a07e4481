// data/text/decompressors/xz.cpp: uses liblzma to unpack consecutive xz streams and the padding between them.
#include <lzma.h>

#include "data/text/decompressors/decompressors.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr uint64_t kXzMemory = 256 << 20;  // `xz -9` needs 65 MiB

[[noreturn]] void fail_xz(lzma_ret status) {
  if (status == LZMA_MEMLIMIT_ERROR) throw UnpackError{"needs too much memory", "a dictionary above 256 MiB"};
  if (status == LZMA_MEM_ERROR) throw UnpackError{"needs too much memory", "no memory is left"};
  throw UnpackError{"is damaged", status == LZMA_FORMAT_ERROR ? "no xz data" : "corrupt data"};
}

class XzDecompressor : public Decompressor {
 public:
  XzDecompressor() {
    if (lzma_stream_decoder(&stream_, kXzMemory, LZMA_CONCATENATED) != LZMA_OK)
      fail(ErrorKind::internal, "liblzma cannot be started");
  }
  ~XzDecompressor() override { lzma_end(&stream_); }
  XzDecompressor(const XzDecompressor&) = delete;
  XzDecompressor& operator=(const XzDecompressor&) = delete;

  size_t next(std::string_view& packed, char* out, size_t size) override {
    if (complete_) return 0;
    stream_.next_in = reinterpret_cast<const uint8_t*>(packed.data());
    stream_.avail_in = packed.size();
    stream_.next_out = reinterpret_cast<uint8_t*>(out);
    stream_.avail_out = size;
    const lzma_ret status = lzma_code(&stream_, packed.empty() ? LZMA_FINISH : LZMA_RUN);
    if (status != LZMA_OK && status != LZMA_STREAM_END && status != LZMA_BUF_ERROR) fail_xz(status);
    complete_ = status == LZMA_STREAM_END;
    packed.remove_prefix(packed.size() - stream_.avail_in);
    return size - stream_.avail_out;
  }
  bool between_parts() const override { return complete_; }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool complete_ = false;  // more streams may follow until the file ends
};

}  // namespace

std::unique_ptr<Decompressor> make_xz_decompressor() { return std::make_unique<XzDecompressor>(); }

}  // namespace weft
