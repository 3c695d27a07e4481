// data/text/text_reader.cpp: lines of plain text, and of gzip members through zlib.
#include "data/text/text_reader.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kMaxLine = 1 << 20;
constexpr unsigned kBuffer = 256 << 10;

// Length of the valid UTF-8 character at the start of `text` (not empty), or 0.
size_t utf8_character(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : (lead & 0xF0) == 0xE0        ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  // The second byte's range excludes overlong forms, surrogates and what is above U+10FFFF.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (at(1) < low || at(1) > high) return 0;
  for (size_t i = 2; i < length; ++i)
    if ((at(i) & 0xC0) != 0x80) return 0;
  return length;
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    uint64_t eight;
    if (text.size() - i >= sizeof eight) {  // most text is ASCII
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    const size_t length = utf8_character(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

struct TextReader::Impl {
  explicit Impl(std::string name) : path(std::move(name)), packed(kBuffer), buffer(kBuffer) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) fail(ErrorKind::data, fmt::format("there is no file {}", path));
    if (!std::filesystem::is_regular_file(status))
      fail(ErrorKind::data, fmt::format("{} is not a regular file (text is read twice, so no pipe will do)", path));
    size = static_cast<int64_t>(std::filesystem::file_size(path));
    file.open(path, std::ios::binary);
    if (!file) fail(ErrorKind::data, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    read_packed();
    gzip = stream.avail_in >= 2 && packed[0] == '\x1f' && packed[1] == '\x8b';
    if (gzip && inflateInit2(&stream, 15 + 16) != Z_OK) fail(ErrorKind::internal, "zlib cannot be started");
  }
  ~Impl() {
    if (gzip) inflateEnd(&stream);
  }

  bool read_packed() {  // false at the end of the file
    file.read(packed.data(), kBuffer);
    if (file.bad()) fail(ErrorKind::io, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(file.gcount());
    num_read += file.gcount();
    return stream.avail_in > 0;
  }

  bool refill() {  // false at the end of the text
    begin = end = 0;
    if (stream.avail_in == 0 && !read_packed()) {
      if (gzip && !between_members) fail_read("is cut off", "unexpected end of file");
      return false;
    }
    if (!gzip) {
      std::swap(buffer, packed);
      end = std::exchange(stream.avail_in, 0);
      return true;
    }
    return inflate_some();
  }

  // A gzip file is one member or several, one behind the other. (gzread would take anything else that follows for the
  // end of the file, and lose the rest of the text without a word.)
  bool inflate_some() {
    while (end == 0) {
      if (stream.avail_in == 0 && !read_packed()) return refill();
      if (std::exchange(between_members, false)) inflateReset(&stream);
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = kBuffer;
      const int status = inflate(&stream, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        fail_read("is damaged", stream.msg ? stream.msg : "no gzip data");
      between_members = status == Z_STREAM_END;
      end = kBuffer - stream.avail_out;
    }
    return true;
  }

  [[noreturn]] void fail_read(const char* what, const char* why) const {
    fail(ErrorKind::data,
         fmt::format("{} {}: its gzip data cannot be read beyond line {} ({})", path, what, num_lines, why));
  }

  [[noreturn]] void fail_line(const std::string& what) const {
    fail(ErrorKind::data, fmt::format("{}, line {}: {}", path, num_lines, what));
  }

  bool read_raw(std::string& line) {
    line.clear();
    bool any = false;
    while (begin < end || refill()) {
      any = true;
      const char* start = buffer.data() + begin;
      const char* newline = static_cast<const char*>(std::memchr(start, '\n', end - begin));
      const size_t length = newline ? static_cast<size_t>(newline - start) : end - begin;
      if (line.size() + length > kMaxLine) {
        ++num_lines;
        fail_line("longer than 1 MiB; one sentence a line is expected");
      }
      line.append(start, length);
      begin += length + (newline ? 1 : 0);
      if (newline) break;
    }
    num_lines += any;
    return any;
  }

  std::string path;
  int64_t size = 0, num_lines = 0, num_read = 0;
  std::ifstream file;
  z_stream stream{};  // of a plain file: only what is left of `packed`
  bool gzip = false, between_members = false;
  std::vector<char> packed, buffer;  // as in the file; as text
  size_t begin = 0, end = 0;
};

TextReader::TextReader(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
TextReader::~TextReader() = default;
TextReader::TextReader(TextReader&&) noexcept = default;

bool TextReader::next(std::string& line) {
  if (!impl_->read_raw(line)) return false;
  if (impl_->num_lines == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  if (line.ends_with('\r')) line.pop_back();
  if (line.find('\0') != std::string::npos) impl_->fail_line("a NUL byte; this is not UTF-8 text (UTF-16, or binary?)");
  const size_t invalid = find_invalid_utf8(line);
  if (invalid != std::string::npos)
    impl_->fail_line(fmt::format("invalid UTF-8 at byte {} (0x{:02X}); convert it, e.g. iconv -f LATIN1 -t UTF-8",
                                 invalid + 1, static_cast<unsigned char>(line[invalid])));
  return true;
}

int64_t TextReader::num_lines() const { return impl_->num_lines; }
int64_t TextReader::bytes_read() const { return impl_->num_read - impl_->stream.avail_in; }
int64_t TextReader::file_bytes() const { return impl_->size; }
const std::string& TextReader::path() const { return impl_->path; }

}  // namespace weft
