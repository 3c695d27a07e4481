// tests/faults/kill_at.cpp: preloaded into a program, ends it by SIGKILL at a chosen system call that changes
// files: WEFT_KILL_AT=rename:3 is before the third rename. Calls: write, fsync, rename, symlink, unlink.
// WEFT_KILL_AT=step:3 is before the record of step 3 is written to the log.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// The process ends if this is the call that was chosen.
void count(const char* call) {
  static const char* const chosen = std::getenv("WEFT_KILL_AT");
  static const char* const colon = chosen ? std::strchr(chosen, ':') : nullptr;
  static std::atomic<int> left = colon ? std::atoi(colon + 1) : 0;
  if (colon == nullptr || std::strncmp(chosen, call, static_cast<size_t>(colon - chosen)) != 0) return;
  if (--left == 0) kill(getpid(), SIGKILL);
}

void look_for_step(const void* data, size_t bytes) {
  static const char* const chosen = std::getenv("WEFT_KILL_AT");
  if (chosen == nullptr || std::strncmp(chosen, "step:", 5) != 0) return;
  static const std::string record = std::string("{\"step\":") + (chosen + 5) + ",\"epoch\"";
  if (memmem(data, bytes, record.data(), record.size()) != nullptr) kill(getpid(), SIGKILL);
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* data, size_t bytes) {
  if (file > STDERR_FILENO) count("write"), look_for_step(data, bytes);
  return real<decltype(write)>("write")(file, data, bytes);
}
int fsync(int file) {
  count("fsync");
  return real<decltype(fsync)>("fsync")(file);
}
int rename(const char* from, const char* to) noexcept {
  count("rename");
  return real<decltype(rename)>("rename")(from, to);
}
int symlink(const char* target, const char* path) noexcept {
  count("symlink");
  return real<decltype(symlink)>("symlink")(target, path);
}
int unlink(const char* path) noexcept {
  count("unlink");
  return real<decltype(unlink)>("unlink")(path);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  count("unlink");
  return real<decltype(unlinkat)>("unlinkat")(folder, path, flags);
}
int remove(const char* path) noexcept {
  count("unlink");
  return real<decltype(remove)>("remove")(path);
}
}
