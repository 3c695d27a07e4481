// launch/start/output_relay.h: starts a process that copies the output of mpirun or srun to our standard streams.
#pragma once

#include <sys/types.h>

#include "data/atomic_file.h"

namespace weft {

// If nothing reads the output of mpirun, mpirun crashes and its ranks end without saving. The relay therefore always
// reads the output. The relay ignores signals, and is a process rather than a thread so that it outlives the launcher.
class OutputRelay {
 public:
  struct Requests {       // signals for the child; 0: none
    int when_alone = 0;   // sent every second once this process was killed, because starting ranks miss some signals
    int when_unread = 0;  // sent once, if standard output cannot be written
  };
  explicit OutputRelay(Requests requests);  // starts the process
  ~OutputRelay();
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;

  void become_output() const;       // called in the child: sends the child's output to the relay
  void child_started(pid_t child);  // called in this process
  void child_ended();               // makes the relay copy the remaining output and exit

  bool has_ended();                                 // call it after SIGCHLD
  void end();                                       // kills the relay; the remaining output is lost
  int write_error() const { return write_error_; }  // errno of the first failed write to standard output; 0: none
  bool was_silent() const { return was_silent_; }   // true if the child ended without any output

 private:
  FileDescriptor output_, error_, control_;  // pipes to the relay
  pid_t process_ = 0;                        // 0: ended
  int write_error_ = 0;
  bool was_silent_ = false;
};

}  // namespace weft
