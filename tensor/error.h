// tensor/error.h: defines Weft's only exception type, which has a kind, a source location and a context.
//
// For bad input from a user, throw an Error whose message is one clear line (what, where, which option helps). Use
// `assert` for our own bugs. An ErrorFrame adds "while ..." to the message, because each Error stores the frames that
// are active on its thread.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

// The kind decides the exit status of the program (docs/reliability.md).
enum class ErrorKind { internal = 1, usage = 2, data = 3, checkpoint = 4, io = 5, peer = 6, diverged = 7 };

// Names what this thread does while the frame exists: ErrorFrame frame(fmt::format("while reading {}", path));
class ErrorFrame {
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

// Use require() if the message is constant; otherwise write `if (!ok) fail(kind, fmt::format(...))`.
inline void require(bool ok, ErrorKind kind, const char* message,
                    std::source_location where = std::source_location::current()) {
  if (!ok) throw Error(kind, message, where);
}

// Prints a note for the user to standard error. Never throws, because a closed or full stream must not end a command.
template <typename... T>
void print_note(fmt::format_string<T...> format, T&&... values) {
  std::fputs(fmt::format(format, std::forward<T>(values)...).c_str(), stderr);
}

// Makes text from a file safe for a message: escapes unprintable characters (\n, \x1b), and truncates the text to
// `most` bytes. Otherwise a hostile or damaged file could control the terminal or hide the message.
inline std::string printable(std::string_view text, size_t most = 80) {
  const auto within_character = [&](size_t i) { return i < text.size() && (text[i] & 0xC0) == 0x80; };
  size_t end = std::min(text.size(), most);
  while (end > 0 && within_character(end)) --end;
  const std::string quoted = fmt::format("{:?}", text.substr(0, end));
  return quoted.substr(1, quoted.size() - 2) + (end < text.size() ? "..." : "");
}

}  // namespace weft
