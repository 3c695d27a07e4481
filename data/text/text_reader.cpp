// data/text/text_reader.cpp: reads lines of plain and packed text.
#include "data/text/text_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "data/text/compression.h"
#include "data/text/text_line.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kMaxLine = 16 << 20;
constexpr int64_t kBuffer = 256 << 10;
constexpr size_t kMagicBytes = 16;  // enough to recognize any kind of file

int open_text(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail(ErrorKind::data, fmt::format("there is no file {}", path));
  if (std::filesystem::is_directory(status)) fail(ErrorKind::data, fmt::format("{} is a folder: give a file", path));
  if (!std::filesystem::is_regular_file(status))
    fail(ErrorKind::data,
         fmt::format("{} is not a regular file: save the text in a file, because it is read twice", path));
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(ErrorKind::data, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  return file;
}

}  // namespace

struct TextReader::Impl {
  Impl(int descriptor, std::string name) : path(std::move(name)), file(descriptor), packed(kBuffer), buffer(kBuffer) {
    struct stat status;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) size = status.st_size;
  }
  ~Impl() { close(file); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void read_packed() {  // leaves `unread` empty at the end of the file
    ssize_t count = 0;
    while (!ended && (count = read(file, packed.data() + unread.size(), kBuffer - unread.size())) < 0)
      if (errno != EINTR)
        fail(ErrorKind::io, fmt::format("{} cannot be read to its end: {}", path, std::strerror(errno)));
    ended = count == 0;  // the end of a terminal's input must not be read twice
    unread = {packed.data(), unread.size() + static_cast<size_t>(count)};
    num_read += count;
  }

  // A pipe may give the first bytes one by one.
  bool is_recognizable() const {
    return ended || unread.size() >= kMagicBytes || unread.find('\n') != std::string_view::npos;
  }

  void recognize() {
    while (!is_recognizable()) read_packed();
    if (const char* advice = advice_on_other_format(unread)) fail(ErrorKind::data, fmt::format("{} {}", path, advice));
    compression = compression_of(unread);
    if (compression != Compression::none) decompressor = make_decompressor(compression);
    recognized = true;
  }

  bool refill() {  // returns false at the end of the text
    begin = end = 0;
    if (!recognized) recognize();
    if (unread.empty()) read_packed();
    if (decompressor) return unpack_some();
    std::swap(buffer, packed);
    end = std::exchange(unread, {}).size();
    return end > 0;
  }

  bool has_input() const {
    pollfd input{.fd = file, .events = POLLIN, .revents = 0};
    return ended || poll(&input, 1, 0) != 0;
  }

  bool ready() {
    while (!recognized && !is_recognizable()) {
      if (!has_input()) return false;
      read_packed();
    }
    for (;;) {
      if (std::memchr(buffer.data() + begin, '\n', end - begin) != nullptr || partial.size() > kMaxLine) return true;
      if (unread.empty() && !has_input()) return false;
      partial.append(buffer.data() + begin, end - begin);
      if (!refill()) return true;
    }
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
    line.assign(partial);  // keeps the capacity of both
    partial.clear();
    bool any = !line.empty(), too_long = false;
    while (begin < end || refill()) {
      any = true;
      const char* start = buffer.data() + begin;
      const char* newline = static_cast<const char*>(std::memchr(start, '\n', end - begin));
      const size_t length = newline ? static_cast<size_t>(newline - start) : end - begin;
      too_long = too_long || line.size() + length > kMaxLine;
      if (!too_long) line.append(start, length);
      begin += length + (newline ? 1 : 0);
      if (newline) break;
    }
    num_lines += any;
    if (too_long)
      throw BadLine(
          ErrorKind::data,
          fmt::format("{}, line {}: the line is longer than 16 MiB; put one sentence on each line", path, num_lines));
    return any;
  }

  std::string path;
  int64_t size = 0, num_lines = 0, num_read = 0;
  int file;
  bool recognized = false, ended = false;
  Compression compression = Compression::none;
  std::unique_ptr<Decompressor> decompressor;  // null for plain text
  std::vector<char> packed, buffer;            // bytes of the file; bytes of the text
  std::string_view unread;                     // the unread part of `packed`
  size_t begin = 0, end = 0;                   // the unread part of `buffer`
  std::string partial;                         // the start of a line, from which ready() has removed it
};

TextReader::TextReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TextReader::TextReader(const std::string& path) : TextReader(std::make_unique<Impl>(open_text(path), path)) {
  impl_->recognize();
}
TextReader TextReader::standard_input() {
  return TextReader(std::make_unique<Impl>(dup(STDIN_FILENO), "standard input"));
}
TextReader::~TextReader() = default;
TextReader::TextReader(TextReader&&) noexcept = default;
TextReader& TextReader::operator=(TextReader&&) noexcept = default;

bool TextReader::next(std::string& line) {
  if (!impl_->read_raw(line)) return false;
  if (impl_->num_lines == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  if (line.ends_with('\r')) line.pop_back();
  require_text(line, impl_->path, impl_->num_lines);
  return true;
}

bool TextReader::ready() { return impl_->ready(); }
int64_t TextReader::num_lines() const { return impl_->num_lines; }
int64_t TextReader::bytes_read() const { return impl_->num_read - std::ssize(impl_->unread); }
int64_t TextReader::file_bytes() const { return impl_->size; }
const std::string& TextReader::path() const { return impl_->path; }

}  // namespace weft
