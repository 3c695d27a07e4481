// launch/start/output_relay.h: a process that copies the output of mpirun or srun to this program's standard streams.
#pragma once

#include <sys/types.h>

#include "data/atomic_file.h"

namespace weft {

// mpirun crashes when its output loses its reader, and its ranks end without saving. The relay always reads it. The
// relay is a process and not a thread, so that it outlives a launcher that is killed. It ignores signals.
class OutputRelay {
 public:
  struct Requests {       // signals for the child; 0: none
    int when_alone = 0;   // sent every second after this process was killed, because starting ranks miss signals
    int when_unread = 0;  // sent once, when standard output cannot be written
  };
  explicit OutputRelay(Requests requests);  // starts the process
  ~OutputRelay();
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;

  void become_output() const;       // called in the child: sends its output to the relay from now on
  void child_started(pid_t child);  // called in this process
  void child_ended();               // makes the relay copy the rest and end

  bool has_ended();                                 // SIGCHLD shows when to ask
  void end();                                       // ends the relay immediately, which loses the rest
  int write_error() const { return write_error_; }  // errno of the first failed write to standard output; 0: none
  bool was_silent() const { return was_silent_; }   // true if the child ended without any output

 private:
  FileDescriptor output_, error_, control_;  // pipes to the relay
  pid_t process_ = 0;                        // 0: ended
  int write_error_ = 0;
  bool was_silent_ = false;
};

}  // namespace weft
