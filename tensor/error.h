// tensor/error.h: how Weft fails: one exception type that knows its kind, its place and what was going on.
//
// Bad input from a user is an Error with one clear line (what, where, which option helps). `assert` is for our own
// bugs. ErrorFrame adds "while ..." lines: frames alive on this thread when an Error is made are kept inside it.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

// The kind decides the exit status of the program (docs/reliability.md).
enum class ErrorKind { internal = 1, usage = 2, data = 3, checkpoint = 4, io = 5, peer = 6, diverged = 7 };

class ErrorFrame {  // RAII: names what this thread is doing, e.g. ErrorFrame frame(fmt::format("while reading {}",
                    // path));
 public:
  explicit ErrorFrame(std::string what) { frames().push_back(std::move(what)); }
  ~ErrorFrame() { frames().pop_back(); }
  ErrorFrame(const ErrorFrame&) = delete;
  ErrorFrame& operator=(const ErrorFrame&) = delete;

  static std::vector<std::string>& frames() {  // outermost first
    thread_local std::vector<std::string> stack;
    return stack;
  }
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::source_location where = std::source_location::current())
      : std::runtime_error(message), kind_(kind), where_(where), frames_(ErrorFrame::frames()) {}

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  std::source_location where() const { return where_; }
  const std::vector<std::string>& frames() const { return frames_; }

 private:
  ErrorKind kind_;
  std::source_location where_;
  std::vector<std::string> frames_;
};

[[noreturn]] inline void fail(ErrorKind kind, const std::string& message,
                              std::source_location where = std::source_location::current()) {
  throw Error(kind, message, where);
}

// For conditions whose message costs nothing to build; otherwise write `if (!ok) fail(kind, fmt::format(...))`.
inline void require(bool ok, ErrorKind kind, const char* message,
                    std::source_location where = std::source_location::current()) {
  if (!ok) throw Error(kind, message, where);
}

// A file's own text, fit for a message: what is no printable character escaped (\n, \x1b), the rest left out beyond
// `most` bytes. A hostile or damaged file must not write on a terminal, nor hide the message in a page of names.
inline std::string printable(std::string_view text, size_t most = 80) {
  const auto within_character = [&](size_t i) { return i < text.size() && (text[i] & 0xC0) == 0x80; };
  size_t end = std::min(text.size(), most);
  while (end > 0 && within_character(end)) --end;
  const std::string quoted = fmt::format("{:?}", text.substr(0, end));
  return quoted.substr(1, quoted.size() - 2) + (end < text.size() ? "..." : "");
}

}  // namespace weft
