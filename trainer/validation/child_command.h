// trainer/validation/child_command.h: a shell command that runs alongside this process, but never longer.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/atomic_file.h"

namespace weft {

class ChildCommand {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;  // names and values

  // Runs `/bin/sh -c command` with `added` and this process's environment, except MPI's variables for its ranks. Its
  // standard input is empty, and its output goes to two files. It has its own process group, a lower priority (nice 10)
  // and all cores that the job may use. Throws an Error of kind io if it cannot be started.
  //
  // posix_spawn copies nothing of this process, so its size, MPI, threads and a GPU do not matter.
  ChildCommand(const std::string& command, const Environment& added, const std::string& output,
               const std::string& error);
  ~ChildCommand() { kill(); }
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;

  // Once the command has ended, kills the rest of its process group and returns its exit status, 128 + n if signal n
  // ended it. Does not wait.
  std::optional<int> poll();
  double seconds() const;  // since its start
  void kill();             // kills its process group

 private:
  pid_t process_ = -1;    // also its group; -1: it has ended
  FileDescriptor alive_;  // a pipe that closes when this process ends, for any reason, which ends the group
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace weft
