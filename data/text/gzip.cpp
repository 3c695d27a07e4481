// data/text/gzip.cpp: zlib's inflate over consecutive members.
#include "data/text/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kChunk = 256 << 10;

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) fail(ErrorKind::internal, "zlib cannot be started");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends a chunk of text; false: the data ended within a member.
  bool next(std::string_view& packed, std::string& text) {
    const auto taken = static_cast<uInt>(std::min<size_t>(packed.size(), std::numeric_limits<uInt>::max()));
    const size_t before = text.size();
    text.resize(before + kChunk);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = taken;
    stream_.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream_.avail_out = kChunk;
    status_ = inflate(&stream_, Z_NO_FLUSH);
    text.resize(text.size() - stream_.avail_out);
    packed.remove_prefix(taken - stream_.avail_in);
    if (status_ == Z_STREAM_END) inflateReset(&stream_);
    return status_ != Z_BUF_ERROR;
  }
  bool between_members() const { return status_ == Z_STREAM_END; }
  bool is_damaged() const { return status_ != Z_OK && status_ != Z_STREAM_END && status_ != Z_BUF_ERROR; }
  const char* reason() const { return stream_.msg ? stream_.msg : "no gzip data"; }

 private:
  z_stream stream_{};
  int status_ = Z_OK;
};

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gunzip(std::string_view packed, const std::string& name) {
  std::string text;
  Inflater inflater;
  do {
    if (!inflater.next(packed, text)) fail(ErrorKind::data, fmt::format("{}: its gzip data is cut off", name));
    if (inflater.is_damaged())
      fail(ErrorKind::data, fmt::format("{}: its gzip data is damaged ({})", name, inflater.reason()));
  } while (!packed.empty() || !inflater.between_members());
  return text;
}

}  // namespace weft
