// data/atomic_file.h: files that appear whole or not at all: temporary name, fsync, rename, fsync of the folder.
//
// Until commit() the bytes lie in PATH.tmp-PID beside the final name; an AtomicFile that is destroyed without commit
// (an exception) removes them. A kill leaves at most a *.tmp-* file, which no reader looks at and prepare_output()
// removes. Errors are of kind io and name the file; a full disk says so. A rename would put a plain file in the place
// of a device, a pipe or a link: such names are refused, as an Error of kind usage.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

class FileDescriptor {  // owns a POSIX descriptor; -1 is none
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

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);  // the folder must exist
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();  // durable under its final name when this returns; replaces an older file of that name

 private:
  std::string path_, temporary_;
  FileDescriptor file_;
};

// Before any work, whether AtomicFile will be able to write there: the name, what has it now, the folder and its
// permissions. Standard input's or output's own file is refused too. Removes what killed processes left of this name.
void prepare_output(const std::string& path);

// A loop around write(2): short writes are finished, interruptions repeated. `name` is for the error message.
void write_all(int descriptor, const void* bytes, size_t count, const std::string& name);

void write_file_atomically(const std::string& path, std::string_view text);
std::string read_file(const std::string& path);  // whole; Error of kind io

void sync_folder(const std::string& folder);                          // makes the names in it durable
void rename_durably(const std::string& from, const std::string& to);  // of a file or folder; fsync of `to`'s folder

}  // namespace weft
