// data/atomic_file.cpp: makes the system calls of atomic files.
#include "data/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "data/regular_file.h"
#include "data/text/number.h"
#include "tensor/error.h"

namespace weft {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTemporary = ".tmp-";  // followed by the writer's process id

[[noreturn]] void fail_io(const char* what, const std::string& name, int error) {
  if (error == ENAMETOOLONG) throw fs::filesystem_error(what, name, {error, std::generic_category()});
  const char* hint = error == ENOSPC || error == EDQUOT ? "; free some space and run the command again" : "";
  fail(ErrorKind::io, fmt::format("cannot {} {}: {}{}", what, name, std::strerror(error), hint));
}

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

const char* reason_against(const std::string& path) {  // returns nullptr if there is no objection
  if (fs::path(path).filename().empty()) return "names no file";
  std::error_code ignored;
  switch (fs::symlink_status(path, ignored).type()) {
    case fs::file_type::none:  // the folder cannot be read: open() reports why
    case fs::file_type::not_found:
    case fs::file_type::regular:
      return nullptr;
    case fs::file_type::directory:
      return "is a folder";
    case fs::file_type::symlink:
      return "is a symbolic link";
    default:
      return "is a device or a pipe";
  }
}

void require_plain_name(const std::string& path) {
  if (const char* reason = reason_against(path))
    fail(ErrorKind::usage, fmt::format("cannot write '{}': it {}; give the name of a plain file", path, reason));
}

void refuse_standard_streams(const std::string& path) {
  struct stat file, stream;
  if (stat(path.c_str(), &file) != 0) return;
  for (const auto& [descriptor, name] : {std::pair{STDIN_FILENO, "input"}, {STDOUT_FILENO, "output"}})
    if (fstat(descriptor, &stream) == 0 && stream.st_dev == file.st_dev && stream.st_ino == file.st_ino)
      fail(ErrorKind::usage,
           fmt::format("cannot write '{}': it is also the file of standard {}; give a different name", path, name));
}

bool has_ended(pid_t writer) { return writer == getpid() || (kill(writer, 0) != 0 && errno == ESRCH); }

bool leads_to(const std::string& path, const FileDescriptor& file) {
  struct stat named, open;
  return lstat(path.c_str(), &named) == 0 && fstat(file.get(), &open) == 0 && named.st_dev == open.st_dev &&
         named.st_ino == open.st_ino;
}

// Returns false if another process removed the new file or folder before this one could lock it. A process that removes
// names locks them first, so this one waits for it. A file system without locks gives none.
bool lock_new(const FileDescriptor& file, const std::string& path) {
  int failed;
  while ((failed = flock(file.get(), LOCK_EX)) != 0 && errno == EINTR) continue;
  return failed != 0 || leads_to(path, file);
}

// On NFS, only a file that is open for writing can be locked, and a folder cannot.
FileDescriptor open_to_lock(const std::string& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  FileDescriptor file(open(path.c_str(), O_RDWR | kFlags));
  if (!file && errno == EISDIR) file = FileDescriptor(open(path.c_str(), O_RDONLY | kFlags));
  return file;
}

// A number tells little about the writer, which may have been in another container or on another host.
void remove_if_left_behind(const std::string& path, pid_t writer) {
  const FileDescriptor file = open_to_lock(path);
  const bool is_locked = file && flock(file.get(), LOCK_EX | LOCK_NB) == 0;
  if (!is_locked && file && errno == EWOULDBLOCK) return;
  std::error_code ignored;  // the next writer tries again
  if (is_locked ? leads_to(path, file) : has_ended(writer)) fs::remove_all(path, ignored);
}

void sync_descriptor(int descriptor, const std::string& name) {
  if (fsync(descriptor) != 0) fail_io("write to disk (fsync)", name, errno);
}

}  // namespace

void FileDescriptor::reset() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

std::string temporary_name(const std::string& path) { return fmt::format("{}{}{}", path, kTemporary, getpid()); }

void remove_left_behind_in(const std::string& folder, const std::function<bool(const std::string&)>& is_ours) {
  std::vector<std::pair<std::string, pid_t>> left;
  std::error_code ignored;  // the next writer tries again
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    const size_t at = name.rfind(kTemporary);
    if (at == name.npos || !is_ours(name.substr(0, at))) continue;
    const std::optional<pid_t> writer = parse_number<pid_t>(std::string_view(name).substr(at + kTemporary.size()));
    if (writer && *writer > 0) left.emplace_back(it->path(), *writer);
  }
  for (const auto& [path, writer] : left) remove_if_left_behind(path, writer);
}

void remove_left_behind(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  remove_left_behind_in(parent_of(path), [&](const std::string& other) { return other == name; });
}

FileDescriptor make_temporary_folder(const std::string& folder) {
  for (;;) {
    if (mkdir(folder.c_str(), 0777) != 0) fail_io("create the folder", folder, errno);
    FileDescriptor file(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (file && lock_new(file, folder)) return file;
    if (!file && errno != ENOENT) fail_io("open the folder", folder, errno);
  }
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(temporary_name(path_)) {
  require_plain_name(path_);
  remove_left_behind(path_);
  do {
    file_ = FileDescriptor(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file_) fail_io("create", temporary_, errno);
  } while (!lock_new(file_, temporary_));
}

AtomicFile::~AtomicFile() {
  if (file_) unlink(temporary_.c_str());
}

void AtomicFile::write(const void* bytes, size_t count) { write_all(file_.get(), bytes, count, path_); }

void AtomicFile::commit() {
  sync_descriptor(file_.get(), path_);
  rename_durably(temporary_, path_);
  file_.reset();
}

void prepare_output(const std::string& path) {
  { const AtomicFile probe(path); }
  refuse_standard_streams(path);
}

void write_all(int descriptor, const void* bytes, size_t count, const std::string& name) {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(descriptor, next, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_io("write", name, errno);
    next += written;
    count -= static_cast<size_t>(written);
  }
}

void write_file_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string read_file(const std::string& path) {
  const FileDescriptor file = open_regular_file(path);
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io("read", path, errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

void sync_folder(const std::string& folder) {
  const FileDescriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) fail_io("open folder", folder, errno);
  sync_descriptor(descriptor.get(), folder);
}

void rename_durably(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail_io("rename to", to, errno);
  sync_folder(parent_of(to));
}

void replace_folder(const std::string& from, const std::string& to) {
  if (!fs::exists(fs::symlink_status(to))) return rename_durably(from, to);
  std::string old = from;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    sync_folder(parent_of(to));
  } else {
    if (errno != EINVAL && errno != ENOSYS) fail_io("rename to", to, errno);
    old = fmt::format("{}.old-{}", to, ::getpid());
    rename_durably(to, old);
    rename_durably(from, to);
  }
  std::error_code error;
  fs::remove_all(old, error);
  if (error) fail_io("remove", old, error.value());
}

}  // namespace weft
