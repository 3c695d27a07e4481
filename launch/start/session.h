// launch/start/session.h: counts and kills the processes of a session on this host.
#pragma once

#include <sys/types.h>

namespace weft {

// mpirun gives each rank a separate process group, but all ranks of this host are in mpirun's session.

void kill_session(pid_t leader);  // sends SIGKILL

struct ProcessCounts {
  int all = 0, stopped = 0;  // stopped by a signal such as SIGSTOP; not by a debugger
};
ProcessCounts count_own_program(pid_t leader);  // processes of the session that run the same program as this process

}  // namespace weft
