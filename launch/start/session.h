// launch/start/session.h: kills all processes of a session.
#pragma once

#include <sys/types.h>

namespace weft {

// Sends SIGKILL on this host. mpirun gives each rank a separate process group, but all ranks are in mpirun's session.
void kill_session(pid_t leader);

}  // namespace weft
