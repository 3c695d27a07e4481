// trainer/validation/child_command.h: runs a shell command in the background, and kills it when this process ends.
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

  // Starts `/bin/sh -c command` with this process's environment, without MPI's variables but with `added`. Standard
  // input is empty, and output and errors go to two files. The command has its own process group, a low priority (nice
  // 10) and all cores of the job. Throws an Error of kind io if it cannot be started.
  //
  // posix_spawn copies nothing of this process, so this process may be large and may use MPI, threads and a GPU.
  ChildCommand(const std::string& command, const Environment& added, const std::string& output,
               const std::string& error);
  ~ChildCommand() { kill(); }
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;

  // Returns nullopt while the command runs, without waiting. Once the command has ended, kills the rest of its process
  // group and returns its exit status, or 128 + n if signal n ended it.
  std::optional<int> poll();
  double seconds() const;  // since the start
  void kill();             // kills the process group

 private:
  pid_t process_ = -1;    // process and group of the shell; -1 after its end
  FileDescriptor alive_;  // pipe that closes when this process ends for any reason, so that the group is killed
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace weft
