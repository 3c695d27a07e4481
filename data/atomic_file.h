// data/atomic_file.h: writes files that appear complete or not at all, with fsync and rename.
//
// Until commit(), the bytes are in the temporary file PATH.tmp-PID. If an exception prevents commit(), the destructor
// removes this file. A killed process leaves at most one *.tmp-* file, which readers ignore and the next writer of PATH
// removes. Errors, such as a full disk, have the kind io and name the file; for a name that is too long, a
// filesystem_error is thrown, for which the command line names the option. If PATH is a device, a pipe or a link, the
// constructor throws a usage Error, because a rename would replace it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

class FileDescriptor {  // owns a POSIX descriptor; -1 if none
 public:
  explicit FileDescriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) reset(), descriptor_ = std::exchange(other.descriptor_, -1);
    return *this;
  }

  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  void reset();

 private:
  int descriptor_;
};

// Files, folders and links are written under the name PATH.tmp-PID, and then renamed to PATH.
std::string temporary_name(const std::string& path);
// Removes each PATH.tmp-PID whose writer has ended: no process has locked it (flock). Where the file system has no
// locks, no process of this host has the number, except this one.
void remove_left_behind(const std::string& path);
// The same for all paths in a folder whose last part is_ours() accepts.
void remove_left_behind_in(const std::string& folder, const std::function<bool(const std::string&)>& is_ours);
// Creates a folder with a temporary name, and returns the lock by which other processes see that it is in use. Closing
// the descriptor ends the lock. REQUIRES: the parent exists.
FileDescriptor make_temporary_folder(const std::string& folder);

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);  // REQUIRES: the folder exists
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();  // makes the file durable under its final name; replaces an older file of that name

 private:
  std::string path_, temporary_;
  FileDescriptor file_;
};

// Checks that AtomicFile can write `path`, and that `path` is not the file of standard input or output. Commands call
// this function before they do any work.
void prepare_output(const std::string& path);

// Calls write(2) until all bytes are written, and repeats interrupted calls. Error messages contain `name`.
void write_all(int descriptor, const void* bytes, size_t count, const std::string& name);

void write_file_atomically(const std::string& path, std::string_view text);
std::string read_file(const std::string& path);  // returns the complete file; throws an io Error

void sync_folder(const std::string& folder);                          // makes its directory entries durable
void rename_durably(const std::string& from, const std::string& to);  // a file or folder; syncs the folder of `to`

// Renames the folder `from` to `to`, and removes an existing folder `to`. At any time, `to` is the old or the new
// folder, unless the file system cannot exchange names (NFS). In this case, a process that is killed between two
// renames leaves the old folder at TO.old-PID.
void replace_folder(const std::string& from, const std::string& to);

}  // namespace weft
