// trainer/validation/child_command.h: a shell command that runs beside this process, and never longer than it.
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

  // Runs `/bin/sh -c command` with this process's environment, without what MPI keeps there for its ranks, and with
  // `added`. Its standard input is empty, its output goes to two files. It has a process group of its own, a lower
  // priority (nice 10) and all cores that the job may use. An Error of kind io if it cannot be started.
  //
  // posix_spawn: nothing of this process is copied, so neither its size nor MPI, threads or a GPU matter.
  ChildCommand(const std::string& command, const Environment& added, const std::string& output,
               const std::string& error);
  ~ChildCommand() { kill(); }
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;

  // Its exit status once it has ended, 128 + n if signal n ended it. Then its whole group ends. Does not wait.
  std::optional<int> poll();
  double seconds() const;  // since it began
  void kill();             // its group, at once

 private:
  pid_t process_ = -1;    // and group; -1: it has ended
  FileDescriptor alive_;  // a pipe that closes when this process ends, for any reason: then the group ends, too
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace weft
