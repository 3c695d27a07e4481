// launch/start/output_relay.h: a process that copies the output of mpirun or srun to this program's standard output
// and error.
#pragma once

#include <sys/types.h>

#include "data/atomic_file.h"

namespace weft {

// mpirun crashes when nothing reads its output any more, and its ranks end unsaved. Here it always has a reader. That
// is a process and not a thread, so that it outlives a launcher that is killed. It takes no signals.
class OutputRelay {
 public:
  struct Requests {       // signals for the child; 0: none
    int when_alone = 0;   // every second after this process was killed: ranks that were just being started miss one
    int when_unread = 0;  // once, when its standard output cannot be written
  };
  explicit OutputRelay(Requests requests);  // starts it
  ~OutputRelay();
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;

  void become_output() const;       // in the child: the relay reads what it writes from now on
  void child_started(pid_t child);  // in this process
  void child_ended();               // the relay copies what is left, and ends

  bool has_ended();                                 // SIGCHLD tells when to ask
  void end();                                       // at once; what is left is lost
  int write_error() const { return write_error_; }  // errno of the first failed write to standard output; 0: none
  bool was_silent() const { return was_silent_; }   // the child ended without any output

 private:
  FileDescriptor output_, error_, control_;  // to the relay
  pid_t process_ = 0;                        // 0: ended
  int write_error_ = 0;
  bool was_silent_ = false;
};

}  // namespace weft
