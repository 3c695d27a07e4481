// data/text/text_reader.cpp: reads lines of plain and packed text.
#include "data/text/text_reader.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "data/text/compression.h"
#include "data/text/text_line.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kMaxLine = 1 << 20;
constexpr int64_t kBuffer = 256 << 10;

}  // namespace

struct TextReader::Impl {
  explicit Impl(std::string name) : path(std::move(name)), packed(kBuffer), buffer(kBuffer) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) fail(ErrorKind::data, fmt::format("there is no file {}", path));
    if (std::filesystem::is_directory(status)) fail(ErrorKind::data, fmt::format("{} is a folder: give a file", path));
    if (!std::filesystem::is_regular_file(status))
      fail(ErrorKind::data,
           fmt::format("{} is not a regular file: save the text in a file, because it is read twice", path));
    size = static_cast<int64_t>(std::filesystem::file_size(path));
    file.open(path, std::ios::binary);
    if (!file) fail(ErrorKind::data, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    read_packed();
    compression = compression_of(unread);
    if (compression != Compression::none) decompressor = make_decompressor(compression);
  }

  void read_packed() {  // leaves `unread` empty at the end of the file
    file.read(packed.data(), kBuffer);
    if (file.bad()) fail(ErrorKind::io, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    unread = {packed.data(), static_cast<size_t>(file.gcount())};
    num_read += file.gcount();
  }

  bool refill() {  // returns false at the end of the text
    begin = end = 0;
    if (unread.empty()) read_packed();
    if (decompressor) return unpack_some();
    std::swap(buffer, packed);
    end = std::exchange(unread, {}).size();
    return end > 0;
  }

  bool unpack_some() {
    try {
      while (end == 0) {
        if (unread.empty()) read_packed();
        const bool all_given = unread.empty();
        end = decompressor->next(unread, buffer.data(), kBuffer);
        if (end > 0 || !all_given) continue;
        if (!decompressor->between_parts()) fail_read("is cut off", "unexpected end of file");
        return false;
      }
    } catch (const UnpackError& error) {
      fail_read(error.what, error.why.c_str());
    }
    return true;
  }

  [[noreturn]] void fail_read(const char* what, const char* why) const {
    fail(ErrorKind::data, fmt::format("{} {}: its {} data cannot be read beyond line {} ({})", path, what,
                                      name_of(compression), num_lines, why));
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
             fmt::format("{}, line {}: the line is longer than 1 MiB; put one sentence on each line", path, num_lines));
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
  Compression compression = Compression::none;
  std::unique_ptr<Decompressor> decompressor;  // null for plain text
  std::vector<char> packed, buffer;            // bytes of the file; bytes of the text
  std::string_view unread;                     // the unread part of `packed`
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
int64_t TextReader::bytes_read() const { return impl_->num_read - std::ssize(impl_->unread); }
int64_t TextReader::file_bytes() const { return impl_->size; }
const std::string& TextReader::path() const { return impl_->path; }

}  // namespace weft
