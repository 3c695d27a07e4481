// launch/start/session.h: kills all processes of a session.
#pragma once

#include <sys/types.h>

namespace weft {

// Sends SIGKILL on this host. mpirun puts each rank into its own process group, but keeps it in mpirun's session.
void kill_session(pid_t leader);

}  // namespace weft
