// data/output/packed_copy.cpp: calls the compressors of zlib, libzstd and liblzma.
#include "data/output/packed_copy.h"

#include <lzma.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "data/atomic_file.h"
#include "data/regular_file.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kBuffer = 256 << 10;

// Takes the text in parts, and writes packed bytes to `to`.
class Compressor {
 public:
  explicit Compressor(AtomicFile& to) : to_(to), out_(kBuffer) {}
  virtual ~Compressor() = default;
  virtual void add(std::string_view text, bool is_last) = 0;

 protected:
  char* out() { return out_.data(); }
  void put(size_t count) { to_.write(out_.data(), count); }

 private:
  AtomicFile& to_;
  std::vector<char> out_;
};

class GzipCompressor : public Compressor {
 public:
  explicit GzipCompressor(AtomicFile& to) : Compressor(to) {
    constexpr int kWindowBits = 15, kGzip = 16, kMemory = 8;
    require(deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits + kGzip, kMemory,
                         Z_DEFAULT_STRATEGY) == Z_OK,
            ErrorKind::internal, "zlib cannot be started");
  }
  ~GzipCompressor() override { deflateEnd(&stream_); }
  void add(std::string_view text, bool is_last) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out());
      stream_.avail_out = kBuffer;
      deflate(&stream_, is_last ? Z_FINISH : Z_NO_FLUSH);
      put(kBuffer - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_{};
};

class ZstdCompressor : public Compressor {
 public:
  explicit ZstdCompressor(AtomicFile& to) : Compressor(to), stream_(ZSTD_createCStream(), ZSTD_freeCStream) {
    require(stream_ != nullptr, ErrorKind::internal, "libzstd cannot be started");
  }
  void add(std::string_view text, bool is_last) override {
    ZSTD_inBuffer in{.src = text.data(), .size = text.size(), .pos = 0};
    for (size_t left = 1; left > 0 || in.pos < in.size;) {
      ZSTD_outBuffer packed{.dst = out(), .size = kBuffer, .pos = 0};
      left = ZSTD_compressStream2(stream_.get(), &packed, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
      require(ZSTD_isError(left) == 0, ErrorKind::internal, "libzstd failed");
      put(packed.pos);
      if (!is_last && in.pos == in.size) return;
    }
  }

 private:
  std::unique_ptr<ZSTD_CStream, decltype(&ZSTD_freeCStream)> stream_;
};

class XzCompressor : public Compressor {
 public:
  explicit XzCompressor(AtomicFile& to) : Compressor(to) {
    require(lzma_easy_encoder(&stream_, LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64) == LZMA_OK, ErrorKind::internal,
            "liblzma cannot be started");
  }
  ~XzCompressor() override { lzma_end(&stream_); }
  void add(std::string_view text, bool is_last) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(text.data());
    stream_.avail_in = text.size();
    lzma_ret status = LZMA_OK;
    do {
      stream_.next_out = reinterpret_cast<uint8_t*>(out());
      stream_.avail_out = kBuffer;
      status = lzma_code(&stream_, is_last ? LZMA_FINISH : LZMA_RUN);
      require(status == LZMA_OK || status == LZMA_STREAM_END || status == LZMA_BUF_ERROR, ErrorKind::internal,
              "liblzma failed");
      put(kBuffer - stream_.avail_out);
    } while (status != LZMA_STREAM_END && (is_last || stream_.avail_in > 0 || stream_.avail_out == 0));
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

std::unique_ptr<Compressor> make_compressor(Compression compression, AtomicFile& to) {
  if (compression == Compression::gzip) return std::make_unique<GzipCompressor>(to);
  if (compression == Compression::zstd) return std::make_unique<ZstdCompressor>(to);
  return std::make_unique<XzCompressor>(to);
}

}  // namespace

Compression compression_for(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  return ending == ".gz"    ? Compression::gzip
         : ending == ".zst" ? Compression::zstd
         : ending == ".xz"  ? Compression::xz
                            : Compression::none;
}

void write_packed_copy(const std::string& from, const std::string& to, Compression compression) {
  const FileDescriptor text = open_regular_file(from);
  AtomicFile packed(to);
  const auto compressor = make_compressor(compression, packed);
  std::vector<char> buffer(kBuffer);
  for (ssize_t got = 1; got > 0;) {
    while ((got = ::read(text.get(), buffer.data(), kBuffer)) < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorKind::io, fmt::format("cannot read {}: {}", from, std::strerror(errno)));
    compressor->add({buffer.data(), static_cast<size_t>(got)}, /*is_last=*/got == 0);
  }
  packed.commit();
}

}  // namespace weft
