// launch/start/session.h: kills all processes of a session.
#pragma once

#include <sys/types.h>

namespace weft {

// Sends SIGKILL to the session's processes on this host. mpirun puts each rank into a separate process group, but in
// its own session.
void kill_session(pid_t leader);

}  // namespace weft
