// trainer/validation/child_command.h: runs a shell command in the background, and kills it when this process ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "data/atomic_file.h"

namespace weft {

class ChildCommand {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;  // names and values

  // Starts `/bin/sh -c command` with this process's environment, without MPI's variables but with `added`. Standard
  // input is empty, and a thread reads output and errors, of which only the ends are kept. The command has its own
  // process group, a low priority (nice 10) and all cores of the job. Throws an Error of kind io if it cannot be
  // started.
  //
  // posix_spawn copies nothing of this process, so this process may be large and may use MPI, threads and a GPU.
  ChildCommand(const std::string& command, const Environment& added);
  ~ChildCommand() { kill(); }
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;

  // Returns nullopt while the command runs, without waiting. Once the command has ended, kills the rest of its process
  // group and returns its exit status, or 128 + n if signal n ended it.
  std::optional<int> poll();
  double seconds() const;  // since the start
  void kill();             // kills the process group

  // Return the last few KiB of the standard output and of the errors. Call them after the command has ended.
  const std::string& output() const { return output_.tail; }
  const std::string& error() const { return error_.tail; }

 private:
  struct Stream {
    FileDescriptor end;  // of the pipe, for reading without waiting
    std::string tail;

    ssize_t read();  // returns the result of ::read()
  };
  void read_until(const FileDescriptor& stop);

  pid_t process_ = -1;    // process and group of the shell; -1 after its end
  FileDescriptor alive_;  // pipe that closes when this process ends for any reason, so that the group is killed
  Stream output_, error_;
  FileDescriptor stop_;  // pipe whose end stops the reader
  std::jthread reader_;  // the last member that it uses, so that it ends first
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace weft
