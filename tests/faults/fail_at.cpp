// tests/faults/fail_at.cpp: preloaded into a program, lets chosen system calls on files below a folder fail.
// WEFT_FAIL_AT=write:3:28:2 lets the third and the fourth write fail with error 28; error 0 is a short write or read,
// and error -500 only delays the call by 500 ms. WEFT_FAIL_BELOW is a part of the files' paths. The first failure is
// noted on standard error. Calls: open, read (and pread), write, fsync, rename, symlink, close.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Choice {
  char call[16] = "";
  int first = 0, error = 0, times = 0;
  Choice() {
    const char* text = std::getenv("WEFT_FAIL_AT");
    if (text) std::sscanf(text, "%15[a-z]:%d:%d:%d", call, &first, &error, &times);
  }
};

bool is_below(const char* path) {
  static const char* const part = std::getenv("WEFT_FAIL_BELOW");
  return part && std::strstr(path, part);
}

bool is_below(int file) {
  char link[64], path[PATH_MAX] = "";
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  return readlink(link, path, sizeof path - 1) > 0 && is_below(path);
}

// Whether this call is one of those that were chosen; sets errno.
template <typename File>
bool fails(const char* call, File file) {
  static const Choice choice;
  static std::atomic<int> count = 0;
  if (std::strcmp(choice.call, call) != 0 || !is_below(file)) return false;
  const int number = ++count;
  if (number < choice.first || number >= choice.first + choice.times) return false;
  if (number == choice.first) dprintf(STDERR_FILENO, "fail_at: the call was made\n");
  errno = choice.error;
  if (choice.error < 0) usleep(1000 * static_cast<useconds_t>(-choice.error));
  return choice.error >= 0;
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return fails("open", path) ? -1 : real<int(const char*, int, ...)>("open")(path, flags, mode);
}
ssize_t write(int file, const void* data, size_t bytes) {
  if (fails("write", file)) {
    if (errno != 0) return -1;
    bytes = (bytes + 1) / 2;
  }
  return real<decltype(write)>("write")(file, data, bytes);
}
ssize_t read(int file, void* data, size_t bytes) {
  if (fails("read", file)) {
    if (errno != 0) return -1;
    bytes = (bytes + 1) / 2;
  }
  return real<decltype(read)>("read")(file, data, bytes);
}
ssize_t pread(int file, void* data, size_t bytes, off_t at) {
  if (fails("read", file)) {
    if (errno != 0) return -1;
    bytes = (bytes + 1) / 2;
  }
  return real<decltype(pread)>("pread")(file, data, bytes, at);
}
int fsync(int file) { return fails("fsync", file) ? -1 : real<decltype(fsync)>("fsync")(file); }
int close(int file) {  // closes all the same, as the system does
  const bool failed = fails("close", file);
  const int error = errno, status = real<decltype(close)>("close")(file);
  if (failed) errno = error;
  return failed ? -1 : status;
}
int rename(const char* from, const char* to) noexcept {
  return fails("rename", to) ? -1 : real<decltype(rename)>("rename")(from, to);
}
int symlink(const char* target, const char* path) noexcept {
  return fails("symlink", path) ? -1 : real<decltype(symlink)>("symlink")(target, path);
}
}
