// data/text/text_reader.cpp: lines of plain text and of gzip files.
#include "data/text/text_reader.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "data/text/text_line.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kMaxLine = 1 << 20;
constexpr unsigned kBuffer = 256 << 10;

}  // namespace

struct TextReader::Impl {
  explicit Impl(std::string name) : path(std::move(name)), packed(kBuffer), buffer(kBuffer) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) fail(ErrorKind::data, fmt::format("there is no file {}", path));
    if (!std::filesystem::is_regular_file(status))
      fail(ErrorKind::data,
           fmt::format("{} is not a regular file (text is read twice, so a pipe does not work)", path));
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

  // A gzip file has one or several consecutive members. (gzread would treat anything else that follows as the
  // end of the file, and silently lose the rest of the text.)
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
        fail(ErrorKind::data,
             fmt::format("{}, line {}: longer than 1 MiB; one sentence a line is expected", path, num_lines));
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
  z_stream stream{};  // for a plain file: only the unread part of `packed`
  bool gzip = false, between_members = false;
  std::vector<char> packed, buffer;  // file contents; text
  size_t begin = 0, end = 0;
};

TextReader::TextReader(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
TextReader::~TextReader() = default;
TextReader::TextReader(TextReader&&) noexcept = default;

bool TextReader::next(std::string& line) {
  if (!impl_->read_raw(line)) return false;
  if (impl_->num_lines == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  if (line.ends_with('\r')) line.pop_back();
  require_text(line, impl_->path, impl_->num_lines);
  return true;
}

int64_t TextReader::num_lines() const { return impl_->num_lines; }
int64_t TextReader::bytes_read() const { return impl_->num_read - impl_->stream.avail_in; }
int64_t TextReader::file_bytes() const { return impl_->size; }
const std::string& TextReader::path() const { return impl_->path; }

}  // namespace weft
